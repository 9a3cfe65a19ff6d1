"""A perspective is asked for pairs; those that share a model run it once, and each reads its outputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mpir import Reranker
from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.cross_encoder import CrossEncoderPerspective
from mpir.models.perspectives.scoring import score_pairs

PAIRS = [("q", "gene"), ("q", "cell"), ("other", "gene")]


class Clipped(CrossEncoderPerspective):
    """The same outputs, read another way."""

    def read(self, outputs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return super().read(outputs).clip(0.4, 0.6)


class Plain(Perspective):
    name = "plain"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> Any:
        return [len(query + text) for query, text in pairs]


class InPassages(Plain):
    """Says that it read everything in passages, and whether it was told of a cache."""

    name = "in-passages"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], *, cache: Any = None, **_: Any) -> Any:
        self.cache = cache
        return super().score_pairs(pairs), np.ones(len(pairs), bool)


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


def test_what_shares_no_model_cannot_be_read_and_scores_pairs() -> None:
    class Named(Perspective):
        name = "named"

    assert Plain().shared is None
    with pytest.raises(NotImplementedError, match="Plain shares"):
        Plain().read(np.zeros((1, 1), np.float32))
    with pytest.raises(NotImplementedError, match=r"Named .*score_pairs"):
        score_pairs([Named()], PAIRS)


def test_scores_come_with_flags_or_alone() -> None:
    item, cache = InPassages(), object()
    result = score_pairs([item, Plain()], PAIRS)
    assert result.values.tolist() == [[5, 5], [5, 5], [9, 9]]
    assert result.in_passages.all()
    assert not score_pairs([Plain()], PAIRS).in_passages.any()
    score_pairs([item], PAIRS, cache=cache)  # type: ignore[arg-type]
    assert item.cache is cache


def test_what_a_reranker_is_given_it_shows_as_it_is() -> None:
    plain = Plain()
    reranker = Reranker(perspectives=[plain])
    assert reranker.perspectives[0] is plain
    assert reranker.score_pairs(PAIRS)["plain"].tolist() == [5, 5, 9]
