"""Retrieve and measure: a query's best documents, runs from orders and scores, and measures query by query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mpir.core.text import Document
from mpir.evaluate import evaluate_queries
from mpir.types import F64, Float

Run = dict[str, dict[str, float]]
"""Query → document → score."""
Values = dict[str, F64]
"""Measure → its figure for each query (Q,)."""


def best_documents(scores: Float, documents: Sequence[Document], depth: int) -> list[Document]:
    """The best documents by scores (D,), best first and with their scores; of equal ones the first."""
    rows = np.argsort(-scores, kind="stable")[:depth]
    return [replace(documents[row], score=float(scores[row])) for row in rows]


def run_of_lists(queries: Iterable[str], lists: Iterable[Iterable[Document]]) -> Run:
    """A run whose scores are the order of each query's documents, without ties."""
    return {
        query: {document.id: -float(rank) for rank, document in enumerate(documents)}
        for query, documents in zip(queries, lists, strict=True)
    }


def run_of_scores(queries: Iterable[str], ids: Iterable[str], scores: Iterable[Float]) -> Run:
    """A run of scores (D,) for each query, of the same documents for all."""
    names = list(ids)
    return {query: dict(zip(names, row.tolist(), strict=True)) for query, row in zip(queries, scores, strict=True)}


def measure_run(
    qrels: Mapping[str, Mapping[str, int]],
    run: Mapping[str, Mapping[str, float]],
    measures: Sequence[str],
    *,
    queries: Iterable[str] | None = None,
) -> Values:
    """Each measure's figures in the order of `queries`, by default that of `qrels`; 0 where one is undefined."""
    names = list(qrels if queries is None else queries)
    by_query = evaluate_queries(qrels, run, measures)
    return {measure: np.array([values.get(name, 0.0) for name in names]) for measure, values in by_query.items()}
