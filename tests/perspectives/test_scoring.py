"""Filling the score matrix: each pair once, each encoder once, no NaN let through."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.errors import InputError
from mpir.perspectives import Perspective, score_pairs
from mpir.perspectives.cross_encoder import CrossEncoder, CrossEncoderPerspective


class Overlap(Perspective):
    """The number of words that question and sentence share."""

    name = "overlap"

    def __init__(self) -> None:
        self.seen: list[tuple[str, list[str]]] = []

    def score(self, question: str, sentences: Sequence[str]) -> np.ndarray[Any, Any]:
        self.seen.append((question, list(sentences)))
        return np.array([len(set(question.split()) & set(text.split())) for text in sentences], float)


def test_a_perspective_of_ones_own_sees_each_pair_once() -> None:
    overlap = Overlap()
    pairs = [("a b", "a"), ("c", "c c"), ("a b", "b a"), ("a b", "a")]
    found = score_pairs([overlap], pairs)
    assert found.values[:, 0].tolist() == [1, 1, 2, 1]
    assert overlap.seen == [("a b", ["a", "b a"]), ("c", ["c c"])]


def test_a_shared_encoder_runs_once(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = CrossEncoder(tiny_checkpoint, device="cpu", precision="fp32")
    runs = []
    outputs = encoder.outputs
    monkeypatch.setattr(encoder, "outputs", lambda pairs, **options: runs.append(pairs) or outputs(pairs, **options))
    perspectives = [CrossEncoderPerspective(name, encoder, output=i) for i, name in enumerate("xyz")]
    pairs = [("aspirin", "blood"), ("aspirin", "heart attack"), ("aspirin", "blood")]
    found = score_pairs([*perspectives, Overlap()], pairs)
    assert runs == [pairs[:2]]
    assert found.values.shape == (3, 4)
    np.testing.assert_array_equal(found.values[0], found.values[2])
    alone = perspectives[1].score("aspirin", ["blood", "heart attack"])
    np.testing.assert_allclose(found.values[:2, 1], alone, atol=1e-6)


def test_no_pairs() -> None:
    assert score_pairs([Overlap()], []).values.shape == (0, 1)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_scores_that_are_not_finite_are_refused(value: float) -> None:
    class Broken(Overlap):
        name = "broken"

        def score(self, question: str, sentences: Sequence[str]) -> np.ndarray[Any, Any]:
            return np.array([1.0] * (len(sentences) - 1) + [value])

    with pytest.raises(InputError, match=r"'broken' gave (nan|inf) for the sentence 'two'.*finite"):
        score_pairs([Broken()], [("q", "one"), ("q", "two")])


def test_the_wrong_number_of_scores_is_refused() -> None:
    class Short(Overlap):
        name = "short"

        def score(self, question: str, sentences: Sequence[str]) -> np.ndarray[Any, Any]:
            return np.zeros(1)

    with pytest.raises(InputError, match=r"shape \(1,\) for 2 sentences"):
        score_pairs([Short()], [("q", "one"), ("q", "two")])
