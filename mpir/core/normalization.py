"""Fixed scales of scores, which do not depend on checkpoints, and normalisation within a question."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.types import F64, I64, Float

TOPS = {"probability": 1.0, "0-5": 5.0, "0-4": 4.0}
LOGIT, COSINE = "logit", "cosine"
SCALES = (LOGIT, *TOPS)
USUAL, FEW = 0.133, 5
"""The prior for BM25's deviation, as a share of the best score (the median over 170 BioASQ dev questions with 30
candidates each), and its strength as a number of candidates (docs/evidence/negative-results.md)."""


def to_scale(logits: Float, scale: str, *, linear: bool = False) -> F64:
    """Map raw outputs (N,) to a scale: ``logit`` (unchanged), ``probability`` (0-1), ``0-5`` (STS) or ``0-4`` (SIA).

    A sigmoid maps logits to the scale; `linear` outputs, of a head trained by regression on the scale, are clipped.
    """
    values = np.asarray(logits, np.float64)
    if scale == LOGIT:
        return values
    top = TOPS[scale]
    if linear:
        return np.clip(values, 0.0, top)
    # exp of negative values only, to avoid overflow
    decay = np.exp(-np.abs(values))
    scaled: F64 = top * np.where(values >= 0, 1.0, decay) / (1.0 + decay)
    return scaled


def minmax(values: npt.NDArray[Any], group_of: I64) -> F64:
    """Map each column to 0-1 within each group; a column that is constant in a group becomes 0.5 there."""
    if not len(values):
        return values.astype(np.float64)
    starts, segment = _groups(group_of)
    low = np.minimum.reduceat(values, starts, axis=0)[segment]
    width = np.maximum.reduceat(values, starts, axis=0)[segment] - low
    return np.where(width > 0, (values - low) / np.where(width > 0, width, 1.0), 0.5)


def zscores(values: npt.NDArray[Any], group_of: I64, bm25: npt.ArrayLike = False) -> F64:
    """Map each column to mean 0 and standard deviation 1 within each group; a constant column becomes 0 there.

    The deviation of BM25 columns (`bm25`, (K,)) is shrunk toward a prior, because top hits score alike: its lower bound
    is the deviation with `FEW` additional values that deviate by `USUAL` times the group's best. Columns with values
    below 0 are not BM25. The result does not depend on the order of a group's members, not even in its rounding.
    """
    if not len(values):
        return values.astype(np.float64)
    starts, segment = _groups(group_of)
    counts = np.bincount(segment).reshape(-1, *[1] * (values.ndim - 1))
    order = _descending(values, segment)
    centred = values - (np.add.reduceat(np.take_along_axis(values, order, 0), starts, axis=0) / counts)[segment]
    best, lowest = np.maximum.reduceat(values, starts, axis=0), np.minimum.reduceat(values, starts, axis=0)
    pseudo_count = np.where(np.logical_and(bm25, lowest >= 0), FEW, 0)
    squares = np.add.reduceat(np.take_along_axis(centred, order, 0) ** 2, starts, axis=0)
    variance, drawn = squares / counts, (squares + pseudo_count * (USUAL * best) ** 2) / (counts + pseudo_count)
    told_apart = np.sqrt(variance) > 1e-9 * np.maximum(best, -lowest)  # smaller differences are rounding errors
    spread = np.where(told_apart, np.sqrt(np.maximum(variance, drawn)), 1.0)
    return np.where(told_apart[segment], centred / spread[segment], 0.0)


def _groups(group_of: I64) -> tuple[I64, I64]:
    """Return the beginning of each group (G,), and the number (N,) of each member's group."""
    begins = np.diff(group_of, prepend=-1) != 0
    return np.flatnonzero(begins), np.cumsum(begins) - 1


def _descending(values: npt.NDArray[Any], segment: I64) -> I64:
    """Return the rows that sort each column within its groups, highest first: a fixed order for sums."""
    by_value = np.argsort(-values, axis=0, kind="stable")
    return np.take_along_axis(by_value, np.argsort(segment[by_value], axis=0, kind="stable"), 0)
