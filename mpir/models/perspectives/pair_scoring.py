"""Score pairs by models that read a query and one text: from the cache, and each remaining pair once by each model.

Models that read documents with their sentences do not come here (perspectives/scoring.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.text.types import Pair
from mpir.errors import InputError, format_value, shortened
from mpir.models.perspectives.base import Perspective, group_by_model
from mpir.models.perspectives.cache import ScoreCache
from mpir.models.tokens.tokenise import forget
from mpir.types import F32, F64, I64, Bool

PAIRS_AT_ONCE = Perspective.pairs_per_save
"""Pairs per cached portion, unless a perspective sets another number."""


@dataclass(frozen=True, slots=True)
class PairScores:
    """Scores of N (query, sentence) pairs by P perspectives: `values` (N, P).

    `in_passages` (N,) marks pairs that are longer than a model reads at once, scored by their best passages.
    """

    values: F64
    in_passages: Bool


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
    def look_up(
        cls, perspectives: Sequence[Perspective], pairs: Sequence[Pair], cache: ScoreCache | None
    ) -> ScoreTable:
        """Make a table with cached scores. Raises InputError for a perspective whose identity is not JSON-able."""
        shape = len(pairs), len(perspectives)
        table = cls(
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


def read_pairs(
    perspectives: Sequence[Perspective],
    pairs: Sequence[Pair],
    *,
    cache: ScoreCache | None = None,
    progress: bool = False,
) -> PairScores:
    """Score all pairs by perspectives that read pairs. A repeated pair is scored once; a shared encoder runs once.

    Cached scores are reused, and new ones are cached in portions, so that an interrupted job loses little. Only
    perspectives with an `identity` beyond their class name are cached, because code may change.

    Rounding of a model's scores depends on the batch. Pairs are therefore scored in the order of their texts, so that
    the input order does not matter.

    Raises:
        InputError: a perspective returned a NaN or infinite score, or the wrong number of scores.
    """
    numbers = {pair: number for number, pair in enumerate(sorted(set(pairs)))}
    table = ScoreTable.look_up(perspectives, list(numbers), cache)
    for columns in group_by_model(table.perspectives):
        for rows in portions(table, columns):
            fill(table, rows, columns, progress=progress)
    forget()
    rows = np.array([numbers[pair] for pair in pairs], np.int64)
    return PairScores(table.values[rows], table.in_passages[rows].any(axis=1))


def portions(table: ScoreTable, columns: Sequence[int]) -> list[I64]:
    """Yield the rows without a score in any of the columns, in portions to be cached."""
    missing = table.missing(columns)
    pairs_per_save = min(table.perspectives[column].pairs_per_save for column in columns)
    size = pairs_per_save if table.cache else max(1, len(missing))
    return [missing[start : start + size] for start in range(0, len(missing), size)]


def fill(table: ScoreTable, rows: I64, columns: Sequence[int], *, progress: bool) -> None:
    """Score rows by perspectives that share a model, or by a single one, and store the scores."""
    perspectives = [table.perspectives[column] for column in columns]
    pairs = [table.pairs[row] for row in rows]
    scores = answers(perspectives, pairs, table.cache, progress=progress)
    for column, answer in zip(columns, scores, strict=True):
        table.store(rows, column, answer)


class Answer(NamedTuple):
    """A perspective's scores (N,) of N pairs, and which (N,) were read in passages."""

    values: F64
    in_passages: Bool


def answers(
    perspectives: Sequence[Perspective], pairs: Sequence[Pair], cache: ScoreCache | None, *, progress: bool
) -> Iterator[Answer]:
    """Yield the scores of perspectives that share a model, which runs once, or of a single perspective.

    Raises:
        InputError: the scores or flags are invalid (see `checked`).
    """
    outputs: tuple[F32, Bool] | None = None
    for perspective in perspectives:
        raise_if_cancelled()
        if perspective.shared is None:
            yield checked(perspective, perspective.score_pairs(pairs, cache=cache, progress=progress), pairs)
        else:
            outputs = outputs or perspective.shared.outputs(pairs, progress=progress)
            yield checked(perspective, (perspective.read(outputs[0]), outputs[1]), pairs)


def checked(perspective: Perspective, result: Any, pairs: Sequence[Pair]) -> Answer:
    """Check a perspective's scores and flags of pairs.

    Raises:
        InputError: there is not one score and one flag for each pair, or a score is not finite.
    """
    values, in_passages = result if isinstance(result, tuple) and len(result) == 2 else (result, [False] * len(pairs))
    answer = Answer(_numbers(perspective.name, values), np.asarray(in_passages))
    _check_shape(perspective.name, "scores", answer.values, len(pairs))
    _check_shape(perspective.name, "flags", answer.in_passages, len(pairs))
    _check_finite(perspective, answer.values, pairs)
    return answer


def _numbers(name: str, values: Any) -> F64:
    """Convert a perspective's scores to an array. Raises InputError for values that are not numbers."""
    try:
        if np.asarray(values).dtype == bool or (isinstance(values, list) and bool in map(type, values)):
            raise TypeError("a boolean is no score")
        return np.asarray(values, np.float64)
    except (TypeError, ValueError, RuntimeError) as error:  # torch raises RuntimeError for a tensor with a gradient
        raise InputError(
            f"perspective {format_value(name)} returned {format_value(values)}; expected an array with one number for "
            f"each text ({shortened(str(error))})."
        ) from error


def _check_shape(name: str, kind: str, values: F64 | Bool, count: int) -> None:
    """Raise InputError unless there is one value for each pair; a single flag would be broadcast."""
    if values.shape != (count,):
        raise InputError(
            f"perspective {format_value(name)} returned {kind} of shape {values.shape} for {count} sentences; expected "
            "one for each sentence."
        )


def _check_finite(perspective: Perspective, values: F64, pairs: Sequence[Pair]) -> None:
    """Raise InputError for the first score that is not finite, with its pair."""
    name = perspective.name
    for row in np.flatnonzero(~np.isfinite(values))[:1]:
        query, sentence = pairs[row]
        raise InputError(
            f"perspective {format_value(name)} returned {values[row]} for the sentence {format_value(sentence)} and "
            f"the query {format_value(query)}; expected a finite number. {remedy(perspective)}"
        )


def remedy(perspective: Perspective) -> str:
    """Return what to do about a score that is not finite."""
    if getattr(perspective, "identity", {}).get("precision") == "float16":
        return (
            "Half precision overflows beyond 65,504; use the precision fp32, bf16, or auto, which takes one of these."
        )
    return "Its checkpoint may be damaged."
