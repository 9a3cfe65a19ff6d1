"""The first pass over documents: a slow document column is computed for those that can still come first.

Reading documents whole for their vectors is half of a rerank's work. Sentences and the first stage say already which
documents stand far behind; those have the column's lowest value of the documents that were read, and stay behind.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mpir.rank.blend import blend_queries, document_order
from mpir.rank.columns import Columns
from mpir.rank.weights import RECURSIVE, Weights
from mpir.types import F64, I64

READ = 30
"""Documents of a query that are read. The number is chosen in docs/guides/cascade.md#vectors-of-the-best-documents."""


def documents_to_read(columns: Columns, weights: Weights | None) -> I64:
    """The numbers (ascending) of one query's documents that a column still to come is computed for.

    Where there are more than READ, they are those that come first by the columns that are known. All of them without
    `weights`, and where the context of sentences is a column that is still to come.
    """
    count = len(columns.documents)
    known = columns.layout.documents
    if weights is None or count <= READ or weights.context not in (*known, *RECURSIVE):
        return np.arange(count)
    order = document_order(columns, blend_queries(columns, _without_unknown(weights, known)).documents)
    return np.sort(order[:READ])


def _without_unknown(weights: Weights, known: tuple[str, ...]) -> Weights:
    """The weights without the document columns that are not there yet."""
    listed = weights.sentence_list_beta
    return replace(
        weights,
        beta={name: weight for name, weight in weights.beta.items() if name in known},
        sentence_list_beta=listed and {name: weight for name, weight in listed.items() if name in known},
    )


def with_lowest(values: F64, rows: I64, count: int) -> F64:
    """A column (count,) of the values (R,) of some rows, and the lowest of these in all others."""
    column = np.full(count, values.min(initial=np.inf))
    column[rows] = values
    return column
