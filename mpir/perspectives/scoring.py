"""Filling the score matrix: every pair once, every encoder once, and nothing that a cache holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.errors import InputError, format_value, shortened
from mpir.models.cancellation import raise_if_cancelled
from mpir.models.tokenise import forget
from mpir.perspectives.adapters import adapted
from mpir.perspectives.base import Perspective, as_numbers, check_shape
from mpir.perspectives.cache import ScoreCache
from mpir.text.types import Pair
from mpir.types import F32, F64, I64, Bool

PAIRS_AT_ONCE = Perspective.pairs_per_save
"""Pairs that are scored before their scores are kept, where no perspective says otherwise."""


@dataclass(frozen=True, slots=True)
class PairScores:
    """Scores of N (question, sentence) pairs by P perspectives: `values` (N, P).

    `in_passages` (N,) marks the pairs that were too long for some model: their scores are those of their best passages.
    """

    values: F64
    in_passages: Bool


def score_pairs(
    perspectives: Sequence[Perspective],
    pairs: Sequence[Pair],
    *,
    cache: ScoreCache | None = None,
    progress: bool = False,
) -> PairScores:
    """Score all pairs by all perspectives. A repeated pair is scored once; a shared encoder runs once.

    What `cache` holds is not scored again, and what it lacks is kept there, part by part, so that an interrupted
    job loses little. It takes only perspectives whose `identity` says more than the name of their class, whose code
    may change.

    A model's scores round by what else is in their batch, so pairs are scored in the order of their texts: the order
    in which they are given changes nothing.

    Raises:
        InputError: a perspective gave a NaN or infinite score, or the wrong number of scores.
    """
    numbers = {pair: number for number, pair in enumerate(sorted(set(pairs)))}
    perspectives = [adapted(perspective) for perspective in perspectives]
    table = _Table.look_up(perspectives, list(numbers), cache)
    for columns in _sharing(perspectives):
        missing = np.flatnonzero(~table.is_known[:, columns].all(axis=1))
        pairs_per_save = min(perspectives[column].pairs_per_save for column in columns)
        size = pairs_per_save if cache else max(1, len(missing))
        for start in range(0, len(missing), size):
            table.fill(missing[start : start + size], columns, progress)
    forget()
    rows = np.array([numbers[pair] for pair in pairs], np.int64)
    return PairScores(table.values[rows], table.in_passages[rows].any(axis=1))


def _sharing(perspectives: Sequence[Perspective]) -> list[list[int]]:
    """The columns of the perspectives, those that share a model together."""
    columns: dict[int, list[int]] = {}
    for column, perspective in enumerate(perspectives):
        model = perspective if perspective.shared is None else perspective.shared
        columns.setdefault(id(model), []).append(column)
    return list(columns.values())


@dataclass(slots=True, kw_only=True)
class _Table:
    """Scores and flags of U unique pairs by P perspectives, and which of them (U, P) the cache held."""

    perspectives: Sequence[Perspective]
    pairs: Sequence[Pair]
    cache: ScoreCache | None
    caches: Sequence[tuple[ScoreCache, str] | None]
    values: F64
    in_passages: Bool
    is_known: Bool

    @classmethod
    def look_up(cls, perspectives: Sequence[Perspective], pairs: Sequence[Pair], cache: ScoreCache | None) -> _Table:
        """A table with what the cache holds."""
        shape = len(pairs), len(perspectives)
        caches = [
            (cache, perspective.fingerprint) if cache and perspective.has_identity else None
            for perspective in perspectives
        ]
        table = cls(
            perspectives=perspectives,
            pairs=pairs,
            cache=cache,
            caches=caches,
            values=np.zeros(shape),
            in_passages=np.zeros(shape, bool),
            is_known=np.zeros(shape, bool),
        )
        for column, cache_entry in enumerate(caches):
            raise_if_cancelled()
            if cache_entry:
                cached = cache_entry[0].look_up(cache_entry[1], pairs)
                table.values[:, column], table.in_passages[:, column], table.is_known[:, column] = cached
        return table

    def fill(self, rows: I64, columns: Sequence[int], progress: bool) -> None:
        """Score pairs by perspectives that share an encoder, or by a single one, and keep the scores."""
        pairs = [self.pairs[row] for row in rows]
        outputs: tuple[F32, Bool] | None = None
        for column in columns:
            raise_if_cancelled()
            perspective = self.perspectives[column]
            shared = perspective.shared
            if shared is not None:
                outputs = outputs or shared.outputs(pairs, progress=progress)
                values, in_passages = perspective.read(outputs[0]), outputs[1]
            else:
                result = perspective.score_with_cache(pairs, self.cache, progress=progress)
                values, in_passages = _two(perspective, result)
            values, in_passages = as_numbers(perspective.name, values), np.asarray(in_passages)
            _check(perspective, values, in_passages, pairs)
            self.values[rows, column], self.in_passages[rows, column] = values, in_passages
            if cache_entry := self.caches[column]:
                cache_entry[0].keep(cache_entry[1], pairs, values, in_passages)


def _two(perspective: Perspective, result: Any) -> tuple[Any, Any]:
    """Scores and flags, as `score_pairs` of a perspective gave them. Raises InputError for anything else than two."""
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise InputError(
            f"perspective {format_value(perspective.name)} gave {shortened(repr(result))}; expected scores, and which "
            "texts were read in passages."
        )
    return result[0], result[1]


def _check(perspective: Perspective, values: F64, in_passages: npt.NDArray[Any], pairs: Sequence[Pair]) -> None:
    check_shape(perspective.name, values, len(pairs))
    if in_passages.shape != values.shape:  # one flag would be spread over all
        raise InputError(
            f"perspective {format_value(perspective.name)} gave flags of shape {in_passages.shape} for {len(pairs)} "
            "sentences; expected True or False for each, whether it was read in passages."
        )
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        question, sentence = pairs[wrong[0]]
        raise InputError(
            f"perspective {format_value(perspective.name)} gave {values[wrong[0]]} for the sentence "
            f"{format_value(sentence)} of the "
            f"question {format_value(question)}; expected a finite number (is its checkpoint damaged?)."
        )
