"""`mpir train` from a mixture to a bundle that reranks, and what it refuses before it trains."""

import json
from pathlib import Path
from typing import Any

import pytest

from mpir import Reranker
from mpir.cli import main

GOOD, BAD = "yes aspirin does thin blood", "the cell is in a gene"


@pytest.fixture
def options(tmp_path: Path, tiny_checkpoint: Path) -> dict[str, Any]:
    """Of a run over two perspectives whose answer is plain from a single word."""
    tasks = []
    for name, losses, top in (("relevance", ["bce", "listwise"], 1.0), ("sts", ["mse5"], 5.0)):
        rows = [
            {"id": f"q{i}", "question": "does aspirin thin blood", "sentence": text, "label": label}
            for i in range(12)
            for text, label in ((GOOD, top), (BAD, 0.0))
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        train = [{"file": f"{name}.jsonl", "epochs": 4}]
        tasks.append({"name": name, "losses": losses, "dev": f"{name}.jsonl", "train": train})
    settings = {"batch_size": 4, "learning_rate": 1.0, "max_length": 64}
    (tmp_path / "mixture.json").write_text(json.dumps({"settings": settings, "perspectives": tasks}))
    return {
        "--checkpoint": tiny_checkpoint,
        "--mixture": tmp_path / "mixture.json",
        "--output": tmp_path / "run",
        "--bundle": tmp_path / "made",
        "--batch-size": 8,
        "--learning-rate": 1e-2,
        "--device": "cpu",
    }


def train(options: dict[str, Any]) -> int:
    return main(["train", *(str(text) for pair in options.items() for text in pair)])


def test_it_trains_and_makes_a_bundle(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(options) == 0
    shown = capsys.readouterr().out
    assert f"best checkpoint: {tmp_path / 'run/best'}\n" in shown
    assert "relevance: expected calibration error" in shown
    assert (tmp_path / "run/curves.png").read_bytes().startswith(b"\x89PNG")
    steps = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    assert max(step.get("rows", 0) for step in steps) == 8  # the option counts more than the file
    reranker = Reranker(tmp_path / "made", device="cpu", precision="fp32")
    assert list(reranker.weights.alpha) == ["relevance", "sts", "agreement"]
    best = reranker.rerank("does aspirin thin blood", [BAD, GOOD]).documents[0]
    assert best.index == 1
    assert 0 <= best.sentences[0].scores["sts"] <= 5


def test_a_mixture_that_is_not_there(options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    options["--mixture"].unlink()
    assert train(options) == 2
    assert "mixture.json: cannot be read" in capsys.readouterr().err


def test_a_place_where_no_bundle_can_go_is_refused_before_training(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made/thesis.txt").write_text("years of work")
    assert train(options) == 2
    assert "made: exists and holds no bundle.json, so it is something else" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
