"""The blend: two weighted sums over columns, for all questions at once. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mpir.perspectives.scales import minmax
from mpir.rank.weights import AGREEMENT, Normalise, Weights

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
    sentences by their own evidence, without agreement (-1 where a document has fewer); `bm25` (D,) and `scores` (N, P)
    the columns as they went into the sums; `document_shares` (D, 1 + R) what S_BM25 and each best sentence add to
    S_DOC.
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
    bm25, scores = scaled(columns, weights.normalise)
    plain, others = sentence_sums(scores.T, columns.perspectives, weights)
    best = best_sentences(plain, columns.document_of, len(bm25), len(weights.w))
    top = np.append(plain, -np.inf)[best]
    documents, context, shares = document_sum(bm25, top, weights)
    sentences = plain + others + weights.alpha_context * context[columns.document_of]
    return Blend(documents, sentences, context, best, bm25, scores, shares)


def scaled(columns: Columns, normalise: Normalise) -> tuple[Floats, Floats]:
    """S_BM25 (D,) and scores (N, P) as they go into the sums."""
    if normalise == "none":
        return columns.bm25, columns.scores
    question_of = columns.question_of
    return minmax(columns.bm25, question_of), minmax(columns.scores, question_of[columns.document_of])


def sentence_sums(scores: Floats, perspectives: Sequence[str], weights: Weights) -> tuple[Floats, Floats]:
    """S_SENT without context, in two parts: the weighted sum of scores (P, …) over the perspectives, and agreement's.

    Column by column: a matrix product may round the same row differently from place to place and so break a tie.
    """
    plain, others = np.zeros(scores.shape[1:]), np.zeros(scores.shape[1:])
    for column, name in zip(scores, perspectives, strict=True):
        part = others if name == AGREEMENT else plain
        part += weights.alpha[name] * column
    return plain, others


def document_sum(bm25: Floats, top: Floats, weights: Weights) -> tuple[Floats, Floats, Floats]:
    """S_DOC (D,), S_CONTEXT (D,), and what S_BM25 and each best sentence add to S_DOC (D, 1 + R).

    `top` (D, R) are the best sums of the perspectives over sentences of each document, -inf where there are fewer.
    """
    present = top > -np.inf
    top = np.where(present, top, 0.0)
    w = np.where(present, weights.beta_sentences * np.array(weights.w), 0.0)
    base = weights.beta_bm25 * bm25
    if weights.context == "bm25":
        context = inside = bm25
        documents = base + (w * (top + weights.alpha_context * inside[:, None])).sum(axis=1)
    else:
        documents = base + (w * top).sum(axis=1)
        if weights.context == "fixpoint":
            documents = documents / (1 - weights.alpha_context * w.sum(axis=1))
        context, inside = documents, documents if weights.context == "fixpoint" else np.zeros(len(bm25))
    return documents, context, np.column_stack([base, w * (top + weights.alpha_context * inside[:, None])])


def best_sentences(values: Floats, document_of: Integers, documents: int, ranks: int) -> Integers:
    """The numbers (documents, ranks) of each document's best sentences, the earlier of equal ones first, -1 for none.

    By sorting, so that one document of 40,000 sentences does not widen a table for all; `best_of` is faster where the
    same columns are blended many times.
    """
    order = np.append(np.lexsort((-values, document_of)), -1)
    counts = np.bincount(document_of, minlength=documents)[:, None]
    first = np.cumsum(counts)[:, None] - counts
    best: Integers = order[np.where(np.arange(ranks) < counts, first + np.arange(ranks), -1)]
    return best


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

    The earlier of equal ones comes first, and -1 stands where a group has fewer.
    """
    places = best_places(np.append(values, -np.inf)[table], ranks)
    if not table.size:
        return places
    return np.where(places >= 0, np.take_along_axis(table, np.maximum(places, 0), axis=1), -1)


def best_places(values: Floats, ranks: int) -> Integers:
    """The columns (rows, ranks) of the highest values in each row, best first, -1 where only -inf is left.

    The earlier of equal ones comes first. `ranks` passes of a maximum, and no sort; `values`, contiguous, is used up.
    """
    count, width = values.shape
    places, found = np.full((ranks, count), -1, np.int64), np.full((ranks, count), -np.inf)
    flat, first = values.reshape(-1), np.arange(count) * width
    for rank in range(min(ranks, width)):
        places[rank] = values.argmax(axis=1)
        index = first + places[rank]
        found[rank] = flat[index]
        flat[index] = -np.inf
    return np.where(found > -np.inf, places, -1).T


def document_order(columns: Columns, blended: Blend) -> Integers:
    """All documents (D,), question by question, best first; equal scores by S_BM25, then by the order of the input."""
    index = np.arange(len(columns.bm25))
    order: Integers = np.lexsort((index, -columns.bm25, -blended.documents, columns.question_of))
    return order
