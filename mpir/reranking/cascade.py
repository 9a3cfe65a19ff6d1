"""The cascade: cheap first passes that select the sentences to score, and the documents to read as a whole.

Encoding whole documents is half of a rerank's work. The scores of sentences and of the first stage already show which
documents rank low. These are not encoded: they get the lowest value among the encoded documents.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from mpir.core.blend import blend_queries, document_order, minmax, sentence_lists
from mpir.core.columns import Columns
from mpir.core.weights import RECURSIVE, Weights
from mpir.types import F64, I64
from mpir.validation import real_number

AUTO: Literal["auto"] = "auto"
ALL: Literal["all"] = "all"
DEFAULT_SHARE = 0.6
FEWEST = 100
"""Least number of sentences to score: a share of fewer would lose more. Both are chosen in docs/evidence/cascade.md."""
FURTHER = 0.2
"""Share of the sentences beyond those 100 that the adaptive cascade scores."""
Share: TypeAlias = float | Literal["auto", "all"] | None


def check_share(share: Share) -> Share:
    """Return the share, "auto", or None for "all". Raises InputError unless a share is above 0 and at most 1."""
    expected = f"the share of sentences to score, above 0 and at most 1 (such as {DEFAULT_SHARE}), {AUTO} or {ALL}"
    if share in (None, ALL):
        return None
    if share == AUTO:
        return AUTO
    return real_number("cascade", share, expected, lambda value: 0 < value <= 1)


def sentence_budget(share: float | Literal["auto"], count: int) -> int:
    """Return how many of a query's `count` sentences are scored: a share of them, but at least 100.

    "auto" scores 100 and a fifth of the others: the more candidates there are, the fewer of their sentences answer.
    """
    if share == AUTO:
        return FEWEST + part_of(FURTHER, max(0, count - FEWEST))
    return max(FEWEST, part_of(share, count))


def first_pass(lexical: F64, bm25: F64, document_of: I64, share: Share, *, ties: I64 | None = None) -> I64:
    """Return the indices (ascending) of one query's sentences to score; all of them if `share` is None.

    `sentence_budget` sets their number. The most promising sentence of every document is always among them, even beyond
    the budget, so that each document gets a sentence score; the most promising other sentences follow. `promise`
    measures how promising a sentence is. Sentences that are left
    out get no score and cannot become snippets. If this selection would turn documents into a sentence list, the two
    most promising sentences of every document are always among them.

    Args:
        lexical: (N,) BM25 of each sentence among the query's sentences.
        bm25: (D,) S_BM25 of the documents.
        document_of: (N,) the document of each sentence, ascending.
        share: the share of sentences to score, "auto", or None (see `check_share`).
        ties: (N,) which of equally promising sentences comes first, the lowest; by default the earlier one.
    """
    if share is None or share == ALL:
        return np.arange(len(document_of))
    count, values = sentence_budget(share, len(document_of)), promise(lexical, bm25, document_of)
    rows = most_promising(values, document_of, count, ties=ties)
    if _single(document_of[rows], bm25) and not _single(document_of, bm25):
        return most_promising(values, document_of, count, each=2, ties=ties)
    return rows


def _single(document_of: I64, bm25: F64) -> bool:
    """Whether most documents have a single sentence, and so are ranked as a sentence list."""
    return bool(sentence_lists(document_of, np.zeros(len(bm25), np.int64), 1)[0])


def part_of(share: float, count: int) -> int:
    """Return ⌈share·count⌉ with a tolerance: 0.55 of 100 is 55, though the product of the floats is slightly more."""
    return math.ceil(share * count - 1e-9)


def promise(lexical: F64, bm25: F64, document_of: I64) -> F64:
    """Return the promise (N,) of each sentence: its BM25 plus its document's S_BM25, each min-max normalised.

    The two have equal weight on any scale, so S_BM25 may be the score of any first stage.
    """
    return minmax(lexical, np.zeros_like(document_of)) + minmax(bm25, np.zeros(len(bm25), np.int64))[document_of]


def most_promising(values: F64, document_of: I64, count: int, *, each: int = 1, ties: I64 | None = None) -> I64:
    """Return the indices (ascending) of the `count` best sentences, always with the best `each` of every document.

    Of equal sentences, the one with the lowest number in `ties` comes first, by default the earlier one.
    """
    ties = np.arange(len(values)) if ties is None else ties
    by_document = np.lexsort((ties, -values, document_of))
    first = np.flatnonzero(np.diff(document_of[by_document], prepend=-1))
    counts = np.diff(first, append=len(by_document))
    best = by_document[np.arange(len(by_document)) - np.repeat(first, counts) < each]
    is_other = np.ones(len(values), bool)
    is_other[best] = False
    order = np.lexsort((ties, -values, is_other))
    return np.sort(order[: max(count, len(best))])


READ, ALL_UP_TO = 50, 60
"""Documents of a query that are encoded, and the length of a list that is encoded whole (docs/evidence/cascade.md)."""


def documents_to_read(columns: Columns, weights: Weights | None, best: int = READ, all_up_to: int = ALL_UP_TO) -> I64:
    """Return the indices (ascending) of the documents of one query for which the next column is computed.

    They are the `best` ones by the columns computed so far. All documents are returned without `weights`, in a list of
    at most `all_up_to`, or if the context of sentences is a column that is not computed yet.
    """
    count = len(columns.documents)
    known = columns.layout.documents
    if weights is None or count <= all_up_to or weights.context not in (*known, *RECURSIVE):
        return np.arange(count)
    order = document_order(columns, blend_queries(columns, _without_unknown(weights, known)).documents)
    return np.sort(order[:best])


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
