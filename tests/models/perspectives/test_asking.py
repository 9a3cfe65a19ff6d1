"""All perspectives are asked for pairs; what a subclass defines itself is never bypassed by what its base does."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mpir import Reranker
from mpir.models.perspectives.adapters import adapted
from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.cross_encoder import CrossEncoderPerspective
from mpir.models.perspectives.scoring import score_pairs

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


class Together(CrossEncoderPerspective):
    """A cross-encoder's scores and one more, for all pairs at once."""

    def score_pairs(self, pairs: Sequence[tuple[str, str]], *, progress: bool = False) -> tuple[Any, Any]:
        values, in_passages = super().score_pairs(pairs, progress=progress)
        return values + 1, in_passages


class Pairs(Perspective):
    """Answers pairs alone."""

    name = "pairs"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], *, progress: bool = False) -> tuple[Any, Any]:
        return np.array([len(question + text) for question, text in pairs], float), np.ones(len(pairs), bool)


class Cached(Pairs):
    """Is told of the cache."""

    name = "cached"

    def score_with_cache(
        self, pairs: Sequence[tuple[str, str]], cache: object, *, progress: bool = False
    ) -> tuple[Any, Any]:
        values, in_passages = self.score_pairs(pairs)
        return -values, in_passages


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
    assert [item.scored_by for item in (complete, half, Plain())] == ["shared", "score", "score"]
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


def test_a_subclass_may_build_on_the_score_of_its_base() -> None:
    class Doubled(CrossEncoderPerspective):
        def score(self, question: str, sentences: Sequence[str]) -> Any:
            return 2 * super().score(question, sentences)

    assert score_pairs([Doubled("a", Counting(), scale="logit")], PAIRS).values[:, 0].tolist() == [8.0, 8.0, 8.0]


def test_a_subclass_with_pairs_of_its_own_is_asked_for_them() -> None:
    encoder = Counting()
    together = Together("a", encoder, scale="logit")
    result = score_pairs([together, CrossEncoderPerspective("b", encoder, scale="logit")], PAIRS)
    assert result.values.tolist() == [[5.0, 4.0]] * 3
    assert result.in_passages.all()


def test_a_class_may_answer_pairs_alone() -> None:
    result = score_pairs([Pairs(), Plain()], PAIRS)
    assert result.values[:, 0].tolist() == result.values[:, 1].tolist() == [5, 5, 9]
    assert result.in_passages.all()
    assert Pairs().score("q", ["gene", "a cell"]).tolist() == [5, 7]
    assert score_pairs([Cached()], PAIRS).values[:, 0].tolist() == [-5, -5, -9]


def test_what_is_defined_further_down_counts_more() -> None:
    class Uncached(Cached):
        def score_pairs(self, pairs: Sequence[tuple[str, str]], *, progress: bool = False) -> tuple[Any, Any]:
            return np.full(len(pairs), 3.0), np.zeros(len(pairs), bool)

    class Single(Uncached):
        def score(self, question: str, sentences: Sequence[str]) -> Any:
            return np.full(len(sentences), 4.0)

    class Renamed(Single):
        name = "renamed"

    assert [item.scored_by for item in (Cached, Uncached, Single, Renamed)] == [
        "score_with_cache",
        "score_pairs",
        "score",
        "score",
    ]
    values = score_pairs([Cached(), Uncached(), Single(), Renamed()], PAIRS[:1]).values
    assert values.tolist() == [[-5, 3, 4, 4]]


def test_a_class_that_answers_nothing_is_refused() -> None:
    class Named(Perspective):
        name = "named"

    with pytest.raises(TypeError, match="Named defines neither score_pairs nor score; define one of them"):
        Named()


def test_an_adapter_scores_for_its_perspective_and_is_not_adapted_again() -> None:
    plain = Plain()
    adapter = adapted(plain)
    values, in_passages = adapter.score_pairs(PAIRS)
    assert values.tolist() == [5, 5, 9]
    assert not in_passages.any()
    assert (adapter.name, adapter.identity, adapter.has_identity) == (plain.name, plain.identity, False)
    assert (adapter.fingerprint, adapter.shared) == (plain.fingerprint, None)
    assert adapted(adapter) is adapter


def test_what_a_reranker_is_given_it_shows_as_it_is() -> None:
    plain = Plain()
    reranker = Reranker(perspectives=[plain])
    assert reranker.perspectives[0] is plain
    assert reranker.score_pairs(PAIRS)["plain"].tolist() == [5, 5, 9]
