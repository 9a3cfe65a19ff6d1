"""A teacher that has read the ideal answer: it grades sentences by it, and never an evaluation question's."""

import json
import re
import runpy
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpir
from mpir.core.text.characters import normalise
from mpir.errors import InputError
from mpir.files.read import read_json, read_json_lines

ROOT = Path(__file__).parents[2]
SAMPLE = Path(mpir.__file__).parent / "sample"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(ROOT / "data_scripts"))
    return runpy.run_path(str(ROOT / "data_scripts/answer_teacher.py"))


class Words:
    """An encoder whose vectors say which of two words a text has."""

    def vectors(self, texts: list[str], *, progress: bool = False) -> tuple[np.ndarray, np.ndarray]:
        result = np.array([["heart" in text, "liver" in text] for text in texts], np.float32).reshape(-1, 2)
        return result, np.arange(len(texts))


def test_the_cosine_is_that_of_the_nearest_ideal_answer_and_a_label_adds_two(script: dict[str, Any]) -> None:
    teacher = script["Teacher"](Words(), {"a": ["the liver", "the heart"], "b": ["the liver"]})
    rows = [
        {"id": "a", "question": "?", "sentence": "heart", "label": 1.0, "kind": "golden"},
        {"id": "a", "question": "?", "sentence": "lung", "label": 0.0, "kind": "bm25"},
        {"id": "b", "question": "?", "sentence": "heart", "label": 0.0, "kind": "bm25"},
        {"id": "b", "question": "?", "sentence": "liver", "label": 0.0, "kind": "bm25"},
        {"id": "c", "question": "?", "sentence": "liver", "label": 1.0, "kind": "golden"},
    ]
    result = list(script["taught"](rows, teacher))
    assert [row["teacher"] for row in result] == [12.0, 0.0, 0.0, 10.0]
    assert [{key: row[key] for key in rows[0]} for row in result] == rows[:4]


def test_ideal_answers_are_lists_or_texts(script: dict[str, Any], tmp_path: Path) -> None:
    records = [{"id": "a", "ideal_answer": ["One. ", ""]}, {"id": "b", "ideal_answer": "Two."}, {"id": "c"}]
    (tmp_path / "q.json").write_text(json.dumps({"questions": records}))
    assert script["ideal_answers"](tmp_path / "q.json") == {"a": ["One."], "b": ["Two."]}


@pytest.mark.parametrize("value", [5, [5], {"a": "b"}])
def test_an_ideal_answer_that_is_no_text(script: dict[str, Any], tmp_path: Path, value: object) -> None:
    (tmp_path / "q.json").write_text(json.dumps({"questions": [{"id": "a", "ideal_answer": value}]}))
    with pytest.raises(InputError, match=rf"q\.json: question 'a': ideal_answer is {re.escape(repr(value))}"):
        script["ideal_answers"](tmp_path / "q.json")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"id": "a", "question": "why", "sentence": null, "label": 1}', "some.train.jsonl:2: the sentence is missing"),
        ('{"id": "a", "question": "why", "sentence": "x", "label": "y"}', "some.train.jsonl:2: the label is 'y'"),
        ('{"question": "why", "sentence": "x", "label": 1}', "some.train.jsonl:2: the id is missing"),
        ('{"id": ["a"], "question": "why", "sentence": "x", "label": 1}', "some.train.jsonl:2: the id is ['a']"),
        ("", "some.train.jsonl: has no rows"),
    ],
)
def test_rows_are_read_before_anything_else(script: dict[str, Any], tmp_path: Path, row: str, message: str) -> None:
    (tmp_path / "some.train.jsonl").write_text(f"\n{row}\n")
    options = Namespace(data=tmp_path, output=tmp_path, rows=[tmp_path / "some.train.jsonl"])
    with pytest.raises(InputError, match=re.escape(message)):
        script["run"](options)
    assert [path.name for path in tmp_path.iterdir()] == ["some.train.jsonl"]


def test_rows_of_which_no_question_has_an_ideal_answer(script: dict[str, Any]) -> None:
    rows = [{"id": "c", "question": "?", "sentence": "liver", "label": 1.0, "kind": "golden"}]
    with pytest.raises(InputError, match=r"\b1 rows .*ideal answer"):
        list(script["taught"](rows, script["Teacher"](Words(), {"a": ["the liver"]})))


def test_the_sample(
    script: dict[str, Any], tmp_path: Path, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = read_json(SAMPLE / "questions.json")["questions"]
    (tmp_path / "bioasq").mkdir()
    (tmp_path / "pubmed").mkdir()
    (tmp_path / "bioasq/training.json").write_text(json.dumps({"questions": questions}))
    (tmp_path / "bioasq/6B1_golden.json").write_text(json.dumps({"questions": questions[:1]}))
    train = [question["id"] for question in questions]
    splits = {"train": train, "dev": [], "test": train[:1]}
    (tmp_path / "bioasq/splits.json").write_text(json.dumps(splits))
    (tmp_path / "pubmed/abstracts.jsonl").write_bytes((SAMPLE / "documents.jsonl").read_bytes())
    rows = [{"id": train[1], "question": "why", "sentence": "because", "label": 1.0, "kind": "golden"}]
    rows += [{"id": train[1], "question": "why", "sentence": "by law"}]
    (tmp_path / "some.train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["--data", tmp_path, "--output", tmp_path, "--encoder", tiny_checkpoint]
    command = ["answer_teacher.py", *map(str, options), "--rows", str(tmp_path / "some.train.jsonl")]
    monkeypatch.setattr(sys, "argv", command)
    assert script["main"]() == 0
    taught = [row for _, row in read_json_lines(tmp_path / "some.answered.train.jsonl")]
    assert taught == [{**old, "teacher": new["teacher"]} for old, new in zip(rows, taught, strict=True)]
    result = [row for _, row in read_json_lines(tmp_path / "searched.answered.train.jsonl")]
    assert {row["id"] for row in result} == set(train[1:])
    held = [normalise(snippet["text"]) for snippet in questions[0]["snippets"]]
    for row in result:
        assert row["teacher"] == pytest.approx(10 * row["label"], abs=0.01) or row["label"] == 0
        assert normalise(row["sentence"]) not in held
    for name in train[1:]:
        sentences = [row["sentence"] for row in result if row["id"] == name]
        assert len(sentences) == len(set(sentences)) <= 24


def test_a_file_of_another_name_is_one_sentence(
    script: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--data", tmp_path, "--output", tmp_path, "--encoder", "none", "--rows", tmp_path / "rows.jsonl"]
    monkeypatch.setattr(sys, "argv", ["answer_teacher.py", *map(str, options)])
    assert script["main"]() == 2
    assert "in .train.jsonl" in capsys.readouterr().err
