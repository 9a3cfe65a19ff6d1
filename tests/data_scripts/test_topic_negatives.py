"""Negatives that are right about something else, on the embedded sample: never an answer, never an evaluation text."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpir
from mpir.io.read import read_json, read_json_lines
from mpir.retrieve.memory import MemoryIndex
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
    kinds = {(row["kind"], row["label"]) for row in rows}
    assert {("golden", 1.0), ("topic-bm25", 0.0), ("topic-vector", 0.0)} <= kinds
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
