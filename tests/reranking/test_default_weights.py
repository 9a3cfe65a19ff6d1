"""Perspectives beyond those of the weights come with a default weight, or the mean of their level."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir import Document, Perspective, Reranker, Weights
from mpir.errors import InputError
from mpir.files.weights import write_weights
from tests.reranking.letters import LETTERS, Count


class Length(Perspective):
    """How long the text is, with a name of its own."""

    name = "length"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.array([len(text) for _, text in pairs], float)


def lengths(document_weight: float | None, sentence_weight: float | None) -> tuple[Length, Length]:
    """A document and a sentence perspective of the lengths of texts, with default weights."""
    complete, each = Length(), Length()
    complete.level, each.name = "document", "each"
    complete.default_weight, each.default_weight = document_weight, sentence_weight
    return complete, each


def test_default_weights_count_where_weights_name_no_such_column() -> None:
    perspectives = [Count("x"), Count("y"), *lengths(0.01, 0.1)]
    reranker = Reranker(perspectives=perspectives, weights=LETTERS)
    assert reranker.weights.beta == {"bm25": 0.2, "length": 0.01}
    assert reranker.weights.alpha == {"x": 1.0, "y": 0.5, "each": 0.1}
    (document,) = reranker.rerank("q", [Document("d", "", "An x.", score=3.0)]).documents
    assert document.shares["length"] == pytest.approx(0.05)
    assert document.sentences[0].shares["each"] == pytest.approx(0.5)
    named = Weights(
        {**LETTERS.alpha, "each": 0.7},
        alpha_context=0.1,
        beta={"bm25": 0.2, "length": 0.3},
        beta_sentences=0.5,
        w=(1.0,),
        normalise="none",
    )
    assert Reranker(perspectives=perspectives, weights=named).weights == named


def test_default_weights_have_no_part_in_equal_weights() -> None:
    reranker = Reranker(perspectives=[Count("x"), *lengths(2.0, 0.1)])
    assert reranker.weights.beta == {"bm25": 1.0, "length": 2.0}
    assert reranker.weights.alpha == {"x": 1.0, "each": 0.1}
    (document,) = reranker.rerank("q", [Document("d", "", "An x.", score=3.0)]).documents
    assert document.shares["length"] == pytest.approx(1.0)  # of a single document, every column is 0.5
    with pytest.raises(InputError, match=r"reads sentences; .*length"):
        Reranker(perspectives=lengths(2.0, None)[:1])


def test_perspectives_are_added_to_a_named_bundle(
    tiny_bundle: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bundle = Path(shutil.copytree(tiny_bundle, tmp_path / "bundle"))
    manifest = json.loads((bundle / "bundle.json").read_text()) | {"weights": "w.json", "files": {}}
    (bundle / "bundle.json").write_text(json.dumps({k: value for k, value in manifest.items() if k != "checksum"}))
    write_weights(
        bundle / "w.json", Weights({"relevance": 1.0, "sts": -0.5, "sia": 0.0}, beta={"bm25": 0.2}, normalise="none")
    )
    single, both = Reranker(bundle), Reranker(bundle, perspectives=[*lengths(0.25, None), Count("x")])
    assert [perspective.name for perspective in both.perspectives] == ["relevance", "sts", "sia", "length", "each", "x"]
    assert both.weights.beta == {"length": 0.25, "bm25": 0.2}
    assert both.weights.alpha["each"] == pytest.approx(0.5)  # the mean of 1, 0.5 and 0
    assert "no weight is tuned for each; using" in caplog.text
    (added,), (bare,) = (item.rerank("q", ["A gene, x."])[0].sentences for item in (both, single))
    assert added.scores.items() > bare.scores.items()
