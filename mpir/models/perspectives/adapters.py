"""Adapt all perspectives to one protocol, in which scoring passes pairs.

A user's class that only defines `score` takes one question at a time; its adapter takes pairs of all questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mpir.core.text.types import Pair
from mpir.models.perspectives.base import Perspective, ScoredBy, score_by_question
from mpir.types import F64, Bool

if TYPE_CHECKING:
    from mpir.models.perspectives.cache import ScoreCache


class Adapter(Perspective):
    """Adapter of a perspective that scores pairs itself instead of reading the outputs of a shared model."""

    def __init__(self, perspective: Perspective) -> None:
        self.perspective, self.name = perspective, perspective.name
        self.pairs_per_save = perspective.pairs_per_save

    @property
    def identity(self) -> Mapping[str, Any]:
        """As the perspective's."""
        return self.perspective.identity

    @property
    def has_identity(self) -> bool:
        """Whether the perspective's class declares what its scores depend on."""
        return self.perspective.has_identity

    @property
    def fingerprint(self) -> str:
        """As the perspective's."""
        return self.perspective.fingerprint

    def score_pairs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[F64, Bool]:
        """Return the perspective's scores and flags of pairs."""
        return self.perspective.score_pairs(pairs, progress=progress)


class _CacheAdapter(Adapter):
    """Adapter of a perspective that caches values of single texts."""

    def score_with_cache(
        self, pairs: Sequence[Pair], cache: ScoreCache | None, *, progress: bool = False
    ) -> tuple[F64, Bool]:
        """Return the perspective's scores and flags of pairs."""
        return self.perspective.score_with_cache(pairs, cache, progress=progress)


class _QuestionAdapter(Adapter):
    """Adapter of a perspective that scores the texts of one question at a time."""

    def score_pairs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[F64, Bool]:
        """Return the perspective's scores and flags of pairs, computed question by question."""
        return score_by_question(self.perspective, pairs)


_ADAPTERS: Mapping[ScoredBy, type[Adapter]] = {
    "score": _QuestionAdapter,
    "score_pairs": Adapter,
    "score_with_cache": _CacheAdapter,
}


def adapted(perspective: Perspective) -> Perspective:
    """Return the form in which scoring uses a perspective: its `shared` model or, without one, its scores of pairs.

    A subclass that overrides `score` is never bypassed by a faster method of its base class.
    """
    adapter = _ADAPTERS.get(perspective.scored_by)
    return perspective if adapter is None or isinstance(perspective, Adapter) else adapter(perspective)
