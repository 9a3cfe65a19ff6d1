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


def blend(columns: Columns, weights: Weights, sentence_slots: Integers | None = None) -> Blend:
    """Compute S_SENT and S_DOC of every sentence and document.

    `sentence_slots` is ``slots(document_of, D)``, for callers who blend the same columns many times.

    Raises:
        InputError: the weights are for other perspectives.
    """
    weights.check_perspectives(columns.perspectives)
    bm25, scores = columns.bm25, columns.scores
    if weights.normalise == "minmax":
        bm25 = minmax(bm25, columns.question_of)
        scores = minmax(scores, columns.question_of[columns.document_of])
    table = slots(columns.document_of, len(bm25)) if sentence_slots is None else sentence_slots
    # Column by column: a matrix product may round the same row differently from place to place and break a tie.
    plain = np.zeros(len(scores))
    for number, name in enumerate(columns.perspectives):
        plain += weights.alpha[name] * scores[:, number]
    best = best_of(plain, table, len(weights.w))
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


def slots(group_of: Integers, groups: int) -> Integers:
    """The members of each group, in their order, in a table (groups, most members) padded with -1.

    `group_of` (M,) is the group of each member, ascending. It lets a maximum run over all groups at once.
    """
    counts = np.bincount(group_of, minlength=groups)
    place = np.arange(len(group_of)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((groups, counts.max(initial=0)), -1, np.int64)
    table[group_of, place] = np.arange(len(group_of))
    return table


def best_of(values: Floats, table: Integers, ranks: int) -> Integers:
    """The members (groups, ranks) of highest value in each row of `slots`, best first.

    The earlier of equal ones comes first, and -1 stands where a group has fewer. `ranks` passes of a maximum: no sort.
    """
    padded = np.append(values, -np.inf)[table]
    best = np.full((len(table), ranks), -1, np.int64)
    rows = np.arange(len(table))
    for rank in range(ranks if table.size else 0):
        place = padded.argmax(axis=1)
        best[:, rank] = np.where(padded[rows, place] > -np.inf, table[rows, place], -1)
        padded[rows, place] = -np.inf
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
