"""The first pass over documents: compute a slow document column only for those that can still rank high.

Encoding whole documents is half of a rerank's work. The scores of sentences and of the first stage already show which
documents rank low. These are not encoded: they get the lowest value among the encoded documents.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mpir.core.blend import blend_queries, document_order
from mpir.core.columns import Columns
from mpir.core.weights import RECURSIVE, Weights
from mpir.types import F64, I64

READ, ALL_UP_TO = 50, 60
"""Documents of a query that are encoded, and the length of a list that is encoded whole (docs/evidence/cascade.md)."""


def documents_to_read(columns: Columns, weights: Weights | None) -> I64:
    """Return the indices (ascending) of the documents of one query for which the next column is computed.

    They are the READ best documents by the columns computed so far. All documents are returned without `weights`, in a
    list of at most ALL_UP_TO, or if the context of sentences is a column that is not computed yet.
    """
    count = len(columns.documents)
    known = columns.layout.documents
    if weights is None or count <= ALL_UP_TO or weights.context not in (*known, *RECURSIVE):
        return np.arange(count)
    order = document_order(columns, blend_queries(columns, _without_unknown(weights, known)).documents)
    return np.sort(order[:READ])


def _without_unknown(weights: Weights, known: tuple[str, ...]) -> Weights:
    """Return the weights without the document columns that are not computed yet."""
    listed = weights.sentence_list_beta
    return replace(
        weights,
        beta={name: weight for name, weight in weights.beta.items() if name in known},
        sentence_list_beta=listed and {name: weight for name, weight in listed.items() if name in known},
    )


def with_lowest(values: F64, rows: I64, count: int) -> F64:
    """Return a column (count,) with `values` (R,) in `rows` and their minimum in all other rows."""
    column = np.full(count, values.min(initial=np.inf))
    column[rows] = values
    return column
