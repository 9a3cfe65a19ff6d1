"""Negatives that are right about something else, on the embedded sample: never an answer, never an evaluation text."""

import json
import random
import runpy
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpir
from mpir.io.read import read_json, read_json_lines
from mpir.retrieve.memory import MemoryIndex
from mpir.text import Document, Question, Snippet
from mpir.text.normalise import normalise

ROOT = Path(__file__).parents[2]
SAMPLE = Path(mpir.__file__).parent / "sample"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(ROOT / "data_scripts"))
    return runpy.run_path(str(ROOT / "data_scripts/topic_negatives.py"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The sample's questions as `train`, but for one that is kept for testing."""
    questions = read_json(SAMPLE / "questions.json")["questions"]
    (tmp_path / "bioasq").mkdir()
    (tmp_path / "pubmed").mkdir()
    (tmp_path / "bioasq/training.json").write_text(json.dumps({"questions": questions}))
    (tmp_path / "bioasq/6B1_golden.json").write_text(json.dumps({"questions": questions[:1]}))
    train = [question["id"] for question in questions]
    splits = {"train": train, "dev": [], "test": train[:1]}
    (tmp_path / "bioasq/splits.json").write_text(json.dumps(splits))
    (tmp_path / "pubmed/abstracts.jsonl").write_bytes((SAMPLE / "documents.jsonl").read_bytes())
    return tmp_path


def test_the_sample(script: dict[str, Any], data: Path, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--data", data, "--output", data, "--encoder", tiny_checkpoint, "--same", "2", "--alike", "2"]
    monkeypatch.setattr(sys, "argv", ["topic_negatives.py", *map(str, options), "--titles", "9", "--dev-titles", "2"])
    assert script["main"]() == 0
    rows = [row for _, row in read_json_lines(data / "topics.train.jsonl")]
    types = {(row["kind"], row["label"]) for row in rows}
    assert {("golden", 1.0), ("topic-bm25", 0.0), ("topic-vector", 0.0)} <= types
    questions = {q["id"]: q for q in read_json(SAMPLE / "questions.json")["questions"]}
    kept_out = next(iter(questions))
    held = [normalise(snippet["text"]) for snippet in questions[kept_out]["snippets"]]
    for row in rows:
        snippets = [normalise(snippet["text"]) for snippet in questions[row["id"]]["snippets"]]
        text = normalise(row["sentence"])
        assert row["id"] != kept_out
        assert any(text in snippet for snippet in snippets) == (row["label"] == 1.0)
        assert not row["kind"].startswith("topic") or not any(text in snippet for snippet in held)
    titles = {name: {row["id"] for _, row in read_json_lines(data / name)} for name in TITLES}
    assert all(titles.values())
    assert not titles["titles.train.jsonl"] & titles["titles.dev.jsonl"]
    barred = {f"title-{name.rsplit('/', 1)[-1]}" for name in questions[kept_out]["documents"]}
    assert not barred & set.union(*titles.values())


TITLES = ("titles.train.jsonl", "titles.dev.jsonl")


def test_what_says_the_same_or_answers_a_near_question_is_no_negative(script: dict[str, Any]) -> None:
    texts = ["aspirin thins blood", "aspirin makes blood thin", "a gene is in a cell", "the heart is at risk"]
    vectors = np.array([[1, 0], [0.9, 0.44], [0, 1], [0, 1]], np.float32)
    pool = script["Pool"](texts, [{"a"}, {"b"}, {"c"}, {"d"}], MemoryIndex(texts), vectors)
    keep = script["Filter"](0.85, [normalise(texts[0])], vectors[:1], frozenset({"a", "d"}))
    assert [keep.keeps(number, pool) for number in range(4)] == [False, False, True, False]


THIN, CLUMP = "Aspirin makes the blood of most adults thin.", "Under salicylates, platelets clump less in trials."
PUMPS, CATS = "The heart pumps the blood through all vessels.", "Cats have four legs and a long tail."
HELD = "Statins lower the cholesterol of most adults."


def question_of(name: str, body: str, gold: str) -> Question:
    return Question(
        name,
        body,
        snippets=(
            Snippet(document="1", begin_section="abstract", end_section="abstract", begin=0, end=len(gold), text=gold),
        ),
    )


def vectors(_: object, texts: Sequence[str]) -> np.ndarray:
    """What is about aspirin points one way, all else another."""
    about = [any(word in text.lower() for word in ("aspirin", "salicylates")) for text in texts]
    return np.array([[1, 0] if is_about_heart else [0, 1] for is_about_heart in about], np.float32).reshape(-1, 2)


def topic_rows(script: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of two questions, for which BM25 finds a document that holds a sentence of every kind."""
    script["topic_rows"].__globals__["encode"] = vectors
    questions = [question_of("a", "does aspirin thin blood", THIN), question_of("h", "what does the heart pump", PUMPS)]
    result = Document("9", "", " ".join([f"As is known, {THIN}", CLUMP, HELD, PUMPS, CATS, CATS]))
    bioasq = Namespace(train=questions, random=random.Random(1), near=lambda _: [result], held={normalise(HELD)})
    return list(script["topic_rows"](bioasq, None, Namespace(same=0.85, alike=0.8)))


def test_candidates_that_are_likely_answers_or_gold_for_evaluation_are_no_negatives(script: dict[str, Any]) -> None:
    rows = topic_rows(script)
    assert {row["sentence"] for row in rows if row["id"] == "a" and row["kind"] == "bm25"} == {CATS}
    assert not any(row["sentence"] == HELD for row in rows)


def test_no_negative_stands_twice_in_a_question(script: dict[str, Any]) -> None:
    result = [(row["id"], row["sentence"]) for row in topic_rows(script)]
    assert ("a", PUMPS) in result
    assert len(result) == len(set(result))


def test_what_both_ways_of_search_find_is_there_once(script: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["aspirin thins blood", "blood is red", "a gene is in a cell"]
    pool = script["Pool"](texts, [{"a"}, {"b"}, {"c"}], MemoryIndex(texts), np.eye(3, 2, dtype=np.float32))
    keep = script["Filter"](0.85, [], pool.vectors[:0], frozenset({"a"}))
    monkeypatch.setitem(script["negatives"].__globals__, "NEAR", 1)
    question = Question("a", "does aspirin thin blood")
    result = script["negatives"](question, np.array([0, 1], np.float32), pool, keep, "topic")
    assert [(row["kind"], row["sentence"]) for row in result] == [("topic-bm25", texts[1]), ("topic-vector", texts[2])]
