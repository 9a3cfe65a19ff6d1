"""Fill the score matrix from the cache; score each remaining pair once with each encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mpir.core.text.types import Pair
from mpir.models.perspectives.adapters import adapted
from mpir.models.perspectives.answers import answers
from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.cache import ScoreCache
from mpir.models.perspectives.score_table import ScoreTable
from mpir.models.tokenise import forget
from mpir.types import F64, I64, Bool

PAIRS_AT_ONCE = Perspective.pairs_per_save
"""Pairs per cached portion, unless a perspective sets another number."""


@dataclass(frozen=True, slots=True)
class PairScores:
    """Scores of N (question, sentence) pairs by P perspectives: `values` (N, P).

    `in_passages` (N,) marks pairs that are longer than a model reads at once, scored by their best passages.
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

    Cached scores are reused, and new ones are cached in portions, so that an interrupted job loses little. Only
    perspectives with an `identity` beyond their class name are cached, because code may change.

    Rounding of a model's scores depends on the batch. Pairs are therefore scored in the order of their texts, so that
    the input order does not matter.

    Raises:
        InputError: a perspective returned a NaN or infinite score, or the wrong number of scores.
    """
    numbers = {pair: number for number, pair in enumerate(sorted(set(pairs)))}
    table = ScoreTable.look_up([adapted(perspective) for perspective in perspectives], list(numbers), cache)
    for columns in sharing(table.perspectives):
        for rows in portions(table, columns):
            fill(table, rows, columns, progress=progress)
    forget()
    rows = np.array([numbers[pair] for pair in pairs], np.int64)
    return PairScores(table.values[rows], table.in_passages[rows].any(axis=1))


def sharing(perspectives: Sequence[Perspective]) -> list[list[int]]:
    """Return the columns of the perspectives, grouped by shared model."""
    columns: dict[int, list[int]] = {}
    for column, perspective in enumerate(perspectives):
        model = perspective if perspective.shared is None else perspective.shared
        columns.setdefault(id(model), []).append(column)
    return list(columns.values())


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
