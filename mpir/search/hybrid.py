"""Hybrid search: candidates of several first stages, each with the scores of all of them, fused into one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mpir.core.text.types import Document
from mpir.errors import InputError, format_names, format_value
from mpir.search.base import ClosedAtExit, Retriever
from mpir.search.rounding import decimals_of
from mpir.types import F64
from mpir.validation import check_choice, is_finite, whole_number

FUSIONS = ("rrf", "sum")
DEPTH = 100
"""Minimum number of documents to request from each first stage."""
DECIMALS = 9


class HybridRetriever(ClosedAtExit):
    """A fusion of BM25 and vectors, or of any first stages of the same documents.

    ``rrf`` is reciprocal rank fusion; ``sum`` is the weighted sum of z-scores over a query's candidates. A document's
    `score` is the fused one, and `scores` has those of all first stages by name, including those that did not retrieve
    it. Among equal scores, the lower id is first.
    """

    name = "hybrid"

    def __init__(
        self,
        retrievers: Sequence[Retriever],
        *,
        fusion: str = "rrf",
        weights: Sequence[float] | None = None,
        depth: int = DEPTH,
    ) -> None:
        """Fuse first stages, each with `depth` documents or, if more are requested, that number.

        `weights` has one weight of ``sum`` for each first stage; they are equal by default.

        Raises:
            InputError: fewer than two first stages, two with one name, an unknown fusion, or weights that do not fit.
        """
        names = [retriever.name for retriever in retrievers]
        if len(names) < 2 or len(set(names)) < len(names):
            raise InputError(f"hybrid search needs two or more different first stages (got {format_names(names)}).")
        check_choice("fusion", fusion, FUSIONS)
        depth = whole_number("depth", depth)
        chosen = [1.0 / len(names)] * len(names) if weights is None else [float(weight) for weight in weights]
        if len(chosen) != len(names) or not all(0 <= weight < math.inf for weight in chosen) or not sum(chosen):
            raise InputError(
                f"weights is {format_value(weights)}; expected a number of at least 0 for each of "
                f"{format_names(names)}, not all of them 0."
            )
        self.retrievers, self.fusion, self.weights, self.depth = tuple(retrievers), fusion, tuple(chosen), depth

    @property
    def identity(self) -> dict[str, Any]:
        """The identities of the first stages, and the settings of their fusion."""
        how = {"fusion": self.fusion, "weights": list(self.weights), "depth": self.depth}
        return {retriever.name: dict(retriever.identity) for retriever in self.retrievers} | how

    def search(self, query: str, k: int = 100) -> list[Document]:
        """Return the k best documents of all first stages, best first."""
        return self.search_batch([query], k)[0]

    def search_batch(self, queries: Sequence[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
        """Return the results of `search` for every query, in their order."""
        k = whole_number("k", k)
        result_lists = [
            retriever.search_batch(queries, max(k, self.depth), progress=progress) for retriever in self.retrievers
        ]
        return [self._fuse(query, lists, k) for query, *lists in zip(queries, *result_lists, strict=True)]

    def _fuse(self, query: str, lists: Sequence[Sequence[Document]], k: int) -> list[Document]:
        """Return one query's documents by fused score, best first."""
        candidates = {document.id: document for documents in lists for document in documents}
        if not candidates:
            return []
        names = list(candidates)
        if self.fusion == "rrf":
            chosen = _best(names, reciprocal_rank_fusion(_ranks(names, lists)), k)
            scores = self._scores(query, [name for name, _ in chosen], lists)
        else:
            scores = self._scores(query, names, lists)
            chosen = _best(names, scaled_sum(scores, self.weights), k, size=sum(self.weights))
            row_of = {name: row for row, name in enumerate(names)}
            scores = scores[[row_of[name] for name, _ in chosen]]
        columns = [retriever.name for retriever in self.retrievers]
        return [
            replace(candidates[name], score=score, scores=dict(zip(columns, row.tolist(), strict=True)))
            for (name, score), row in zip(chosen, scores, strict=True)
        ]

    def _scores(self, query: str, names: Sequence[str], lists: Sequence[Sequence[Document]]) -> F64:
        """Return the score (D, R) of each document by each first stage, looked up if the stage did not retrieve it."""
        columns = []
        for retriever, documents in zip(self.retrievers, lists, strict=True):
            known = {document.id: document.score for document in documents}
            missing = [name for name in names if name not in known]
            known |= dict(zip(missing, retriever.scores_of(query, missing).tolist() if missing else (), strict=True))
            columns.append([known[name] for name in names])
            _check_finite(retriever.name, dict(zip(names, columns[-1], strict=True)))
        return np.array(columns, np.float64).T

    def scores_of(self, query: str, ids: Sequence[str]) -> F64:
        """Return weighted sums (N,) of z-scores among these documents; their ranks in the whole index are unknown."""
        scores = np.column_stack([retriever.scores_of(query, ids) for retriever in self.retrievers])
        for retriever, column in zip(self.retrievers, scores.T, strict=True):
            _check_finite(retriever.name, dict(zip(ids, column.tolist(), strict=True)))
        return scaled_sum(scores, self.weights)

    def document(self, id: str) -> Document:
        """Return the stored document of an id, without a score. Raises InputError for an id that the index lacks."""
        return self.retrievers[0].document(id)

    def __len__(self) -> int:
        return len(self.retrievers[0])

    def close(self) -> None:
        """Close all first stages."""
        for retriever in self.retrievers:
            retriever.close()


def _check_finite(stage: str, scores: Mapping[str, float | None]) -> None:
    """Raise InputError for a score that is not finite, with the id of its document."""
    for name, score in scores.items():
        if not is_finite(score):
            raise InputError(
                f"the first stage {format_value(stage)} returned for document {format_value(name)} the score "
                f"{format_value(score)}; expected a finite number."
            )


def _ranks(names: Sequence[str], lists: Sequence[Sequence[Document]]) -> F64:
    """Return the rank (D, R) of each document in each list, from 1; infinite if it is not in the list."""
    rank_tables = [{document.id: rank for rank, document in enumerate(documents, 1)} for documents in lists]
    return np.array([[rank_of.get(name, np.inf) for rank_of in rank_tables] for name in names])


def _best(names: Sequence[str], scores: F64, k: int, *, size: float = 1.0) -> list[tuple[str, float]]:
    """Return the k best ids with their scores of a size; among equal scores, the lower id is first."""
    rounded = np.round(scores, decimals_of(size, DECIMALS)).tolist()
    return sorted(zip(names, rounded, strict=True), key=lambda item: (-item[1], item[0]))[:k]


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
