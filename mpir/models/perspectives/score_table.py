"""The score matrix while it is filled from a cache and from perspectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.text.types import Pair
from mpir.models.perspectives.answers import Answer
from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.cache import ScoreCache
from mpir.types import F64, I64, Bool


@dataclass(slots=True, kw_only=True)
class ScoreTable:
    """Scores and flags of U unique pairs by P perspectives, and which of them (U, P) came from the cache.

    `fingerprints` has the cache key of each perspective; None for one that is not cached.
    """

    perspectives: Sequence[Perspective]
    pairs: Sequence[Pair]
    cache: ScoreCache | None
    fingerprints: Sequence[str | None]
    values: F64
    in_passages: Bool
    is_known: Bool

    @classmethod
    def empty(cls, perspectives: Sequence[Perspective], pairs: Sequence[Pair], cache: ScoreCache | None) -> ScoreTable:
        """Make a table without scores. Raises InputError for a cached perspective whose identity is not JSON-able."""
        shape = len(pairs), len(perspectives)
        return cls(
            perspectives=perspectives,
            pairs=pairs,
            cache=cache,
            fingerprints=[
                perspective.fingerprint if cache and perspective.has_identity else None for perspective in perspectives
            ],
            values=np.zeros(shape),
            in_passages=np.zeros(shape, bool),
            is_known=np.zeros(shape, bool),
        )

    @classmethod
    def look_up(
        cls, perspectives: Sequence[Perspective], pairs: Sequence[Pair], cache: ScoreCache | None
    ) -> ScoreTable:
        """Make a table with cached scores. Raises InputError for a perspective whose identity is not JSON-able."""
        table = cls.empty(perspectives, pairs, cache)
        for column, fingerprint in enumerate(table.fingerprints):
            raise_if_cancelled()
            if cache and fingerprint:
                cached = cache.look_up(fingerprint, pairs)
                table.values[:, column], table.in_passages[:, column], table.is_known[:, column] = cached
        return table

    def missing(self, columns: Sequence[int]) -> I64:
        """Return the rows without a score in any of these columns, ascending."""
        return np.flatnonzero(~self.is_known[:, columns].all(axis=1))

    def store(self, rows: I64, column: int, answer: Answer) -> None:
        """Store a perspective's scores of rows in its column and in the cache."""
        self.values[rows, column], self.in_passages[rows, column] = answer
        if self.cache and (fingerprint := self.fingerprints[column]):
            self.cache.keep(fingerprint, [self.pairs[row] for row in rows], *answer)
