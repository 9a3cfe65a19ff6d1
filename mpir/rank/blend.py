"""The blend: two weighted sums over columns, for all questions at once. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.rank.weights import Weights

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Columns:
    """Everything the blend knows about Q questions with D documents and N sentences in all.

    `bm25` (D,); `question_of` (D,) the question of a document, ascending; `document_of` (N,) the document of a
    sentence, ascending; `scores` (N, P); `perspectives` the P names.
    """

    bm25: Floats
    question_of: Integers
    document_of: Integers
    scores: Floats
    perspectives: tuple[str, ...]

    @classmethod
    def stack(cls, parts: Sequence[Columns]) -> Columns:
        """The columns of many questions as one; questions and documents are numbered through."""
        questions = _offsets([int(part.question_of.max(initial=-1)) + 1 or 1 for part in parts])
        documents = _offsets([len(part.bm25) for part in parts])
        return cls(
            np.concatenate([part.bm25 for part in parts]),
            np.concatenate([part.question_of + first for part, first in zip(parts, questions, strict=True)]),
            np.concatenate([part.document_of + first for part, first in zip(parts, documents, strict=True)]),
            np.concatenate([part.scores for part in parts]),
            parts[0].perspectives,
        )


def _offsets(sizes: list[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Blend:
    """Blended scores and what they are made of.

    `documents` (D,) S_DOC; `sentences` (N,) S_SENT; `context` (D,) S_CONTEXT; `best` (D, R) the documents' R best
    sentences (-1 where a document has fewer); `bm25` (D,) and `scores` (N, P) the columns as they went into the sums;
    `document_shares` (D, 1 + R) what S_BM25 and each best sentence add to S_DOC.
    """

    documents: Floats
    sentences: Floats
    context: Floats
    best: Integers
    bm25: Floats
    scores: Floats
    document_shares: Floats


def blend(columns: Columns, weights: Weights) -> Blend:
    """Compute S_SENT and S_DOC of every sentence and document.

    Raises:
        InputError: the weights are for other perspectives.
    """
    weights.check_perspectives(columns.perspectives)
    bm25, scores = columns.bm25, columns.scores
    if weights.normalise == "minmax":
        bm25 = minmax(bm25, columns.question_of)
        scores = minmax(scores, columns.question_of[columns.document_of])
    alpha = np.array([weights.alpha[name] for name in columns.perspectives])
    plain = scores @ alpha
    best = best_sentences(plain, columns.document_of, len(bm25), len(weights.w))
    present = best >= 0
    top = np.where(present, plain[best], 0.0) if len(plain) else np.zeros(best.shape)
    w = np.where(present, weights.beta_sentences * np.array(weights.w), 0.0)
    base = weights.beta_bm25 * bm25
    if weights.context == "bm25":
        context, inside = bm25, bm25
        documents = base + (w * (top + weights.alpha_context * inside[:, None])).sum(axis=1)
    else:
        documents = base + (w * top).sum(axis=1)
        if weights.context == "fixpoint":
            documents = documents / (1 - weights.alpha_context * w.sum(axis=1))
        context, inside = documents, documents if weights.context == "fixpoint" else np.zeros(len(bm25))
    sentences = plain + weights.alpha_context * context[columns.document_of]
    shares = np.column_stack([base, w * (top + weights.alpha_context * inside[:, None])])
    return Blend(documents, sentences, context, best, bm25, scores, shares)


def best_sentences(values: Floats, document_of: Integers, documents: int, ranks: int) -> Integers:
    """The numbers (D, ranks) of each document's best sentences, the earlier of equal ones, -1 where there is none.

    `ranks` passes of a maximum per document: linear in the number of sentences, with no sort.
    """
    best = np.full((documents, ranks), -1, np.int64)
    left = values.copy()
    starts = np.flatnonzero(np.diff(document_of, prepend=-1))
    owners = document_of[starts]
    for rank in range(ranks if len(values) else 0):
        highest = np.full(documents, -np.inf)
        highest[owners] = np.maximum.reduceat(left, starts)
        hits = np.flatnonzero((left == highest[document_of]) & (left > -np.inf))
        first = hits[np.flatnonzero(np.diff(document_of[hits], prepend=-1))]
        best[document_of[first], rank] = first
        left[first] = -np.inf
    return best


def minmax(values: npt.NDArray[Any], group_of: Integers) -> Floats:
    """Map each column to 0-1 within each group. A column that is constant in a group (or single) becomes 0.5 there."""
    if not len(values):
        return values.astype(np.float64)
    starts = np.flatnonzero(np.diff(group_of, prepend=-1))
    segment = np.cumsum(np.diff(group_of, prepend=-1) != 0) - 1
    low = np.minimum.reduceat(values, starts, axis=0)[segment]
    width = np.maximum.reduceat(values, starts, axis=0)[segment] - low
    return np.where(width > 0, (values - low) / np.where(width > 0, width, 1.0), 0.5)


def document_order(columns: Columns, blended: Blend) -> Integers:
    """All documents (D,), question by question, best first; equal scores by S_BM25, then by the order of the input."""
    index = np.arange(len(columns.bm25))
    order: Integers = np.lexsort((index, -columns.bm25, -blended.documents, columns.question_of))
    return order


def sentence_order(columns: Columns, blended: Blend) -> Integers:
    """All sentences (N,), question by question, best first; equal scores in the order of documents, then of text."""
    place = np.empty(len(columns.bm25), np.int64)
    place[document_order(columns, blended)] = np.arange(len(columns.bm25))
    of = columns.document_of
    order: Integers = np.lexsort((np.arange(len(of)), place[of], -blended.sentences, columns.question_of[of]))
    return order
