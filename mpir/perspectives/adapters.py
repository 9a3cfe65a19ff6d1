"""One protocol for all perspectives: scoring asks for pairs, and a class with another way has an adapter.

A class of a user's that only defines `score` takes one question at a time; its adapter takes pairs of all questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mpir.perspectives.base import Perspective, ScoredBy, score_by_question
from mpir.text.types import Pair
from mpir.types import F64, Bool

if TYPE_CHECKING:
    from mpir.perspectives.cache import ScoreCache


class _Adapter(Perspective):
    """A perspective that is asked for pairs, not for what it reads of a model that it may share."""

    def __init__(self, perspective: Perspective) -> None:
        self.perspective, self.name = perspective, perspective.name
        self.pairs_per_save = perspective.pairs_per_save

    @property
    def identity(self) -> Mapping[str, Any]:
        """That of the perspective."""
        return self.perspective.identity

    @property
    def has_identity(self) -> bool:
        """Whether the perspective's class says what its scores depend on."""
        return self.perspective.has_identity

    @property
    def fingerprint(self) -> str:
        """That of the perspective."""
        return self.perspective.fingerprint

    def score_pairs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[F64, Bool]:
        """What the perspective gives for pairs."""
        return self.perspective.score_pairs(pairs, progress=progress)


class _CacheAdapter(_Adapter):
    """The same, of one that keeps something about single texts in the cache."""

    def score_with_cache(
        self, pairs: Sequence[Pair], cache: ScoreCache | None, *, progress: bool = False
    ) -> tuple[F64, Bool]:
        """What the perspective gives for pairs."""
        return self.perspective.score_with_cache(pairs, cache, progress=progress)


class _QuestionAdapter(_Adapter):
    """The same, of one that scores the texts of one question."""

    def score_pairs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[F64, Bool]:
        """What the perspective gives for pairs, question by question."""
        return score_by_question(self.perspective, pairs)


_ADAPTERS: Mapping[ScoredBy, type[_Adapter]] = {
    "score": _QuestionAdapter,
    "score_pairs": _Adapter,
    "score_with_cache": _CacheAdapter,
}


def adapted(perspective: Perspective) -> Perspective:
    """The perspective as scoring asks it: by its `shared` model or, where it has none, for pairs.

    So a subclass that answers `score` in a way of its own is never bypassed by what its base class does faster.
    """
    adapter = _ADAPTERS.get(perspective.scored_by)
    return perspective if adapter is None or isinstance(perspective, _Adapter) else adapter(perspective)
