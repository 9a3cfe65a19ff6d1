"""Distil an encoder: which texts it learns from, which layers a student starts from, and how near it comes."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).parents[2]
QUESTIONS = {"a": ("does aspirin thin blood", "1"), "b": ("is it a placebo", "2"), "c": ("which gene", "3")}


@pytest.fixture
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "experiments/dense/smaller_encoder.py"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three questions with one gold document each, of which one question is in the training split, and ten records."""
    (tmp_path / "bioasq").mkdir()
    (tmp_path / "pubmed").mkdir()
    questions = [{"id": name, "body": body, "documents": [f"x/{pmid}"]} for name, (body, pmid) in QUESTIONS.items()]
    (tmp_path / "bioasq/training.json").write_text(json.dumps({"questions": questions}))
    (tmp_path / "bioasq/splits.json").write_text(json.dumps({"train": ["a"], "dev": ["b"], "test": ["c"]}))
    records = [{"pmid": str(number), "title": f"Title {number}.", "abstract": "aspirin. trial"} for number in range(10)]
    (tmp_path / "pubmed/abstracts.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return tmp_path


def test_gold_documents_of_dev_and_test_are_left_out(script: dict[str, Any], data: Path) -> None:
    training, held_out = script["texts"](data, 100, 3, 1)
    assert len(held_out) == 3
    assert training[-1] == "does aspirin thin blood"
    titles = {text.split(".")[0] for text in (*training[:-1], *held_out)}
    assert titles == {f"Title {number}" for number in range(10) if number not in (2, 3)}
    assert not set(training) & set(held_out)


def test_a_student_has_the_last_layer_or_none_that_adds(script: dict[str, Any], tiny_checkpoint: Path) -> None:
    teacher = script["first_layers"](str(tiny_checkpoint), 1)
    static = script["first_layers"](str(tiny_checkpoint), 0)
    token_ids = torch.tensor([[5, 6, 7]])
    with torch.no_grad():
        states = static.embeddings(token_ids)
        norms = static.encoder.layer[0].attention.output.LayerNorm, static.encoder.layer[0].output.LayerNorm
        assert torch.allclose(static(token_ids).last_hidden_state, norms[1](norms[0](states)), atol=1e-5)
        assert not torch.allclose(static(token_ids).last_hidden_state, teacher(token_ids).last_hidden_state)


def test_students_are_written_and_measured(
    script: dict[str, Any],
    data: Path,
    tiny_checkpoint: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = [
        "--teacher",
        tiny_checkpoint,
        "--layers",
        "1",
        "0",
        "--epochs",
        "40",
        "--held-out",
        "2",
        "--length",
        "24",
    ]
    command = ["smaller_encoder", "--data", data, *options, "--output", data / "students"]
    monkeypatch.setattr(sys, "argv", [str(part) for part in command])
    assert script["main"]() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["1 layers", "0 layers"]
    assert float(lines[0].split("teacher ")[1].split(",")[0]) > 0.9
    assert {folder.name for folder in (data / "students").iterdir()} == {"0", "1"}
