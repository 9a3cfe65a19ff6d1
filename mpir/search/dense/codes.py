"""One-bit codes whose best hits are scored again by vectors in half precision, which stay on disk.

The codes are RaBitQ's: the sign of each dimension around the mean vector, and two numbers that correct the estimate of
the inner product (Gao and Long, "RaBitQ: Quantizing High-Dimensional Vectors with a Theoretical Error Bound for
Approximate Nearest Neighbor Search", 2024). Every code is compared with the query, so no vector is out of reach.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mpir.errors import ArtefactError, InputError, format_value
from mpir.files.arrays import NoArrayError, map_array
from mpir.search.dense.faiss_backend import faiss, read_index
from mpir.types import F32, I64

RESCORED = 1000
"""Minimum number of codes whose vectors are read from disk for a query."""
FACTOR = 4
"""Minimum number of vectors read for each one that is wanted."""


class RescoredCodes:
    """Codes in memory and their vectors (N, W) on disk, with the methods of a faiss index that a segment uses."""

    def __init__(self, paths: Sequence[Path], vectors: Path) -> None:
        """Open faiss indexes of consecutive codes and the file of all vectors. Raises ArtefactError if damaged."""
        self._codes = [read_index(path) for path in paths]  # faiss keeps no reference to them
        self._index = self._codes[0] if len(paths) == 1 else combine_indexes(self._codes)
        self.ntotal, self.rescored = int(self._index.ntotal), RESCORED
        self._vectors = _mapped_rows(vectors)
        if self._vectors.shape != (self.ntotal, self._index.d):
            raise ArtefactError(
                f"{vectors}: has vectors of shape {self._vectors.shape}, but the codes are of {self.ntotal} vectors of "
                f"width {self._index.d}; it is damaged, so build the index again."
            )

    def set_parameters(self, parameters: str) -> None:
        """Set the number of vectors to read, such as ``rescored=2000``. Raises InputError for another parameter."""
        name, _, value = parameters.partition("=")
        if name != "rescored" or not value.isdecimal() or not int(value):
            raise InputError(
                f"search parameters {format_value(parameters)} do not fit the index; a binary index has rescored=N."
            )
        self.rescored = int(value)

    def search(self, queries: F32, count: int) -> tuple[F32, I64]:
        """Return the inner products (Q, count) of the nearest vectors with the queries (Q, W), and their rows."""
        candidates = min(self.ntotal, max(self.rescored, FACTOR * count))
        scores, rows = np.full((len(queries), count), -np.inf, np.float32), np.full((len(queries), count), -1)
        for number, candidate_rows in enumerate(self._index.search(queries, candidates)[1]):
            sorted_rows = np.sort(candidate_rows[candidate_rows >= 0])
            products = self.reconstruct_batch(sorted_rows) @ queries[number]
            order = np.argsort(-products, kind="stable")[:count]
            scores[number, : len(order)], rows[number, : len(order)] = products[order], sorted_rows[order]
        return scores, rows

    def reconstruct_batch(self, rows: I64) -> F32:
        """Return the vectors (R, W) of rows, read from disk."""
        self._prefetch(rows)
        return np.asarray(self._vectors[rows], np.float32)

    def _prefetch(self, rows: I64) -> None:
        """Ask the system for all pages at once, because page faults would read them one after another."""
        if sys.platform == "win32":  # which has no such request
            return
        pages = self._vectors._mmap
        start = self._vectors.offset % mmap.ALLOCATIONGRANULARITY  # numpy maps from a multiple of it
        for row in rows.tolist():
            begin = start + row * self._vectors.strides[0]
            first = begin - begin % mmap.PAGESIZE
            pages.madvise(mmap.MADV_WILLNEED, first, begin + self._vectors.strides[0] - first)


def combine_indexes(indexes: Sequence[Any]) -> Any:
    """Search several indexes at once, each with a thread of its own."""
    shards = faiss().IndexShards(indexes[0].d, True, True)
    for index in indexes:
        shards.add_shard(index)
    return shards


def _mapped_rows(path: Path) -> Any:
    """Map vectors (N, W) as a numpy memmap of which single rows are read."""
    try:
        rows: Any = map_array(path)
    except NoArrayError as error:
        raise ArtefactError(f"{path}: is missing or damaged ({error}); build the index again.") from error
    if sys.platform != "win32":
        rows._mmap.madvise(mmap.MADV_RANDOM)
    return rows
