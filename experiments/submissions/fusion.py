"""Fuse columns without weights: by the mean of their z-scores, and by reciprocal rank fusion.

A document's columns are the document columns and its best sentence's score in each sentence column. A sentence's are
its own and its document's fused score, so that good documents' sentences come first, as with the blend's context.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mpir.core.cutoffs import TEN_EACH, Cutoffs
from mpir.search.hybrid import RRF_K
from mpir.tune.submissions import Pool, Submissions
from mpir.types import F64, I64


def mean_z_scores(pool: Pool, cutoffs: Cutoffs = TEN_EACH) -> Submissions:
    """The mean of all columns' z-scores inside each question."""
    return _fused(pool, z_scores, cutoffs)


def reciprocal_ranks(pool: Pool, cutoffs: Cutoffs = TEN_EACH) -> Submissions:
    """The sum over all columns of 1 / (60 + rank) inside each question."""
    return _fused(pool, reciprocal, cutoffs)


def _fused(pool: Pool, scale: Callable[[F64, I64], F64], cutoffs: Cutoffs) -> Submissions:
    columns = pool.scored.columns
    layout, of = columns.layout, columns.document_of
    names = [name for name in layout.sentences if name not in layout.ordering]
    best = [_best(columns.sentence(name), of, len(columns.documents)) for name in names]
    levels = [np.asarray(columns.document(name)) for name in layout.documents]
    documents = np.mean([scale(values, columns.query_of) for values in (*levels, *best)], axis=0)
    query_of = columns.query_of[of]
    own = [np.asarray(columns.sentence(name)) for name in names]
    sentences = np.mean([scale(values, query_of) for values in (*own, documents[of])], axis=0)
    table = np.append(sentences, -np.inf)[pool.sentences]
    return Submissions(pool, documents, table, np.zeros(len(documents)), cutoffs=cutoffs)


def _best(values: F64, owner: I64, count: int) -> F64:
    """The highest value of each of so many owners; the lowest of all for one without any."""
    best = np.full(count, np.min(values, initial=0.0))
    np.maximum.at(best, owner, values)
    return best


def z_scores(values: F64, group_of: I64) -> F64:
    """Values (N,) with mean 0 and deviation 1 inside each group; 0 where all of a group are equal."""
    counts = np.maximum(np.bincount(group_of), 1)
    means = np.bincount(group_of, values) / counts
    spread = np.sqrt(np.bincount(group_of, (values - means[group_of]) ** 2) / counts)
    return np.asarray((values - means[group_of]) / np.where(spread > 0, spread, 1.0)[group_of])


def reciprocal(values: F64, group_of: I64) -> F64:
    """1 / (60 + rank) of each value (N,) inside its group; the first of equal ones ranks higher."""
    order = np.lexsort((-values, group_of))
    counts = np.bincount(group_of)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    ranks = np.empty(len(values))
    ranks[order] = np.arange(len(values)) - first + 1
    return 1.0 / (RRF_K + ranks)
