"""Mined negatives on the embedded sample: gold sentences never become negatives, and the hardest others do."""

import json
import runpy
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

import mpir
from mpir.io.read import read_json, read_json_lines
from mpir.text import Question
from mpir.text.normalise import normalise

ROOT = Path(__file__).parents[2]
SAMPLE = Path(mpir.__file__).parent / "sample"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(ROOT / "data_scripts"))
    return runpy.run_path(str(ROOT / "data_scripts/mined_negatives.py"))


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


def test_the_sample(
    script: dict[str, Any],
    data: Path,
    tiny_bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = data / "mined.jsonl"
    options = ["--data", data, "--output", output, "--bundle", tiny_bundle, "--device", "cpu", "--precision", "fp32"]
    monkeypatch.setattr(sys, "argv", ["mined_negatives.py", *map(str, options), "--below", "2", "--questions", "8"])
    assert script["main"]() == 0
    rows = [row for _, row in read_json_lines(output)]
    types = {(row["kind"], row["label"]) for row in rows}
    assert types == {("golden", 1.0), ("mined", 0.0)}
    questions = {q["id"]: q for q in read_json(SAMPLE / "questions.json")["questions"]}
    assert next(iter(questions)) not in {row["id"] for row in rows}  # kept for testing
    for row in rows:
        snippets = [normalise(snippet["text"]) for snippet in questions[row["id"]]["snippets"]]
        gold = any(normalise(row["sentence"]) in snippet for snippet in snippets)
        assert gold == (row["kind"] == "golden")
    first = output.read_bytes()
    journal = output.with_name("mined.jsonl.scores.jsonl")
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join(lines[:4]) + "\n")
    assert script["main"]() == 0  # goes on after three questions, to the same end
    assert output.read_bytes() == first
    assert journal.read_text().splitlines() == lines
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--perspective", "magic"])
    assert script["main"]() == 2
    assert "has no perspective 'magic'; choose from relevance, sts, sia" in capsys.readouterr().err


def test_what_has_become_gold_is_no_negative_any_more(
    script: dict[str, Any], data: Path, tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = data / "mined.jsonl"
    options = ["--data", data, "--output", output, "--bundle", tiny_bundle, "--device", "cpu", "--precision", "fp32"]
    monkeypatch.setattr(sys, "argv", ["mined_negatives.py", *map(str, options), "--below", "2", "--questions", "2"])
    assert script["main"]() == 0
    wrong = next(row for _, row in read_json_lines(output) if row["kind"] == "mined")
    questions = read_json(data / "bioasq/training.json")["questions"]
    snippets = next(question["snippets"] for question in questions if question["id"] == wrong["id"])
    snippets.append({**snippets[0], "text": wrong["sentence"]})
    (data / "bioasq/training.json").write_text(json.dumps({"questions": questions}))
    assert script["main"]() == 0
    result = [row for _, row in read_json_lines(output) if row["id"] == wrong["id"]]
    assert result and not any(row["sentence"] == wrong["sentence"] and row["label"] == 0 for row in result)


def test_a_part_of_a_mean_below_zero_lies_below_it(script: dict[str, Any]) -> None:
    candidates = [["above the mean", -1.95], ["nearly the mean", -2.05], ["lower", -2.2], ["low", -3.0]]
    record = {"golden": [["yes", -2.0]], "candidates": candidates}
    rows = script["mined_rows"](Question("q", "?"), record, Namespace(skip=0, below=0.95, negatives=8))
    assert [row["sentence"] for row in rows] == ["yes", "lower", "low"]


def test_the_hardest_are_chosen_but_for_likely_answers(script: dict[str, Any]) -> None:
    candidates = [["low", 0.1], ["high", 0.7], ["best", 0.9], ["close", 0.78], ["middle", 0.5]]
    record = {"golden": [["yes", 1.0], ["also", 0.6]], "candidates": candidates}
    arguments = Namespace(skip=1, below=0.95, negatives=2)  # 0.95 of the gold mean is 0.76
    rows = list(script["mined_rows"](Question("q", "?"), record, arguments))
    assert [(row["sentence"], row["label"]) for row in rows] == [("yes", 1), ("also", 1), ("high", 0), ("middle", 0)]
    assert list(script["mined_rows"](Question("q", "?"), {**record, "golden": []}, arguments)) == []
    assert list(script["mined_rows"](Question("q", "?"), {**record, "candidates": []}, arguments)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Aspirin thins the blood.", True),  # contained
        ("As known, ASPIRIN thins the blood of adults, but seldom.", True),  # contains
        ("Aspirin also thins blood of the adults", True),  # the same words, nearly
        ("Aspirin was given to adults with a headache", False),
    ],
)
def test_what_may_be_gold(script: dict[str, Any], text: str, expected: bool) -> None:
    assert script["may_be_gold"](text, [normalise("Aspirin thins the blood of adults")]) is expected
