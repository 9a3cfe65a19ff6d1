"""Fuse several scores of a query's documents. Arrays are (D, R): D documents, R first stages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mpir.types import F64

RRF_K = 60
"""Reciprocal rank fusion's constant, from its paper."""


def reciprocal_rank_fusion(ranks: F64, k: int = RRF_K) -> F64:
    """Σ 1 / (k + rank): (D,) from ranks that start at 1; infinite ones (not retrieved) add nothing.

    Cormack et al., "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods" (2009).
    """
    return np.asarray((1.0 / (k + ranks)).sum(axis=1))


def scaled_sum(scores: F64, weights: Sequence[float]) -> F64:
    """Σ weight · z-score: (D,), with z-scores by column; 0 where all values are equal."""
    if not len(scores):
        return np.zeros(0)
    spread = scores.std(axis=0)
    scaled = (scores - scores.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.asarray(scaled @ np.asarray(weights, np.float64))
