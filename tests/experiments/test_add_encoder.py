"""An encoder as it is, added to a bundle: new columns beside the old ones, sealed, and of equal weight until tuned."""

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from mpir import Reranker

MAIN: Any = runpy.run_path(str(Path(__file__).parents[2] / "experiments/add_encoder.py"))["main"]


def add(monkeypatch: pytest.MonkeyPatch, *options: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["add_encoder.py", *map(str, options)])
    return int(MAIN())


def test_both_levels(tiny_bundle: Path, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "both"
    names = ["--sentences", "vectors", "--documents", "passages"]
    assert add(monkeypatch, tiny_bundle, "--encoder", tiny_checkpoint, *names, "--output", output) == 0
    reranker = Reranker(output, device="cpu", precision="fp32")
    assert set(reranker.weights.alpha) == {"relevance", "sts", "sia", "vectors"}
    assert set(reranker.weights.beta) == {"bm25", "passages"}
    best = reranker.rerank("does aspirin thin blood", ["the gene is in a cell .", "does aspirin thin blood"]).documents[
        0
    ]
    assert best.scores["passages"] <= 1.001
    assert "vectors" in best.sentences[0].scores


@pytest.mark.parametrize(
    ("names", "words"), [(["--sentences", "sts"], ["has a perspective 'sts' already"]), ([], ["name one with"])]
)
def test_bad_input(
    names: list[str],
    words: list[str],
    *,
    tiny_bundle: Path,
    tiny_checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = [tiny_bundle, "--encoder", tiny_checkpoint, *names, "--output", tmp_path / "new"]
    assert add(monkeypatch, *options) != 0
    assert all(word in capsys.readouterr().err for word in words)
    assert not (tmp_path / "new").exists()
