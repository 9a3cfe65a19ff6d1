"""A perspective is asked by what its most derived class defines, so a subclass's own score is never bypassed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mpir.perspectives.base import Perspective, asked_by
from mpir.perspectives.cross_encoder import CrossEncoderPerspective
from mpir.perspectives.scoring import score_pairs

PAIRS = [("q", "gene"), ("q", "cell"), ("other", "gene")]


class Half(CrossEncoderPerspective):
    """A cross-encoder's score, halved by its own `score`."""

    def score(self, question: str, sentences: Sequence[str]) -> np.ndarray[Any, Any]:
        return super().score_pairs([(question, sentence) for sentence in sentences])[0] / 2


class Clipped(CrossEncoderPerspective):
    """The same outputs, read another way."""

    def read(self, outputs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return super().read(outputs).clip(0.4, 0.6)


class Plain(Perspective):
    name = "plain"

    def score(self, question: str, sentences: Sequence[str]) -> np.ndarray[Any, Any]:
        return np.array([len(question + sentence) for sentence in sentences], float)


class Counting:
    """An encoder in memory that counts how often it runs."""

    checkpoint, outputs_count = "none", 1

    def __init__(self) -> None:
        self.runs, self.identity = 0, {"runs": "counted"}

    def column(self, output: int, against: int | None = None) -> int:
        return output

    def outputs(self, pairs: Sequence[tuple[str, str]], *, progress: bool = False) -> tuple[Any, Any]:
        self.runs += 1
        return np.array([[len(text)] for _, text in pairs], np.float32), np.array([True] * len(pairs))


def test_a_subclass_with_a_score_of_its_own_is_asked_for_it() -> None:
    encoder = Counting()
    complete, half = CrossEncoderPerspective("a", encoder, scale="logit"), Half("b", encoder, scale="logit")
    assert (asked_by(complete), asked_by(half), asked_by(Plain())) == ("shared", "score", "score")
    values = score_pairs([complete, half], PAIRS).values
    np.testing.assert_allclose(values[:, 1], values[:, 0] / 2)


def test_those_that_share_a_model_run_it_once_and_read_it_each_in_their_way() -> None:
    encoder = Counting()
    several = [CrossEncoderPerspective("a", encoder), Clipped("b", encoder), CrossEncoderPerspective("c", encoder)]
    values = score_pairs(several, PAIRS).values
    assert encoder.runs == 1
    np.testing.assert_allclose(values[:, 1], values[:, 0].clip(0.4, 0.6))


def test_pairs_scored_directly_are_read_together_and_say_what_was_read_in_passages() -> None:
    encoder = Counting()
    values, in_passages = CrossEncoderPerspective("a", encoder, scale="logit").score_pairs(PAIRS)
    assert encoder.runs == 1
    assert values.tolist() == [4.0, 4.0, 4.0]
    assert in_passages.all()


def test_what_shares_no_model_cannot_be_read() -> None:
    assert Plain().shared is None
    with pytest.raises(NotImplementedError, match="Plain shares no model"):
        Plain().read(np.zeros((1, 1), np.float32))
