"""The blend: two weighted sums over columns, for all questions at once. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mpir.perspectives.normalization import minmax, zscores
from mpir.rank.columns import Columns, Layout, single_sentences
from mpir.rank.weights import RECURSIVE, Normalise, Weights
from mpir.types import F64, I64, Bool


@dataclass(frozen=True, slots=True)
class Blend:
    """Blended scores and what they are made of.

    `documents` (D,) S_DOC; `sentences` (N,) S_SENT; `context` (D,) S_CONTEXT; `best` (D, R) the documents' R best
    sentences by their own evidence, without what only orders sentences (-1 where a document has fewer); `columns` as
    they went into the sums; `document_shares` (D, K + R) what each document column and each best sentence add to S_DOC.
    """

    documents: F64
    sentences: F64
    context: F64
    best: I64
    columns: Columns
    document_shares: F64


def blend(columns: Columns, weights: Weights) -> Blend:
    """Compute S_SENT and S_DOC of every sentence and document.

    Raises:
        InputError: the weights are for other columns.
    """
    weights.check_columns(columns.layout)
    columns, single = scaled(columns, weights.normalise), listed(columns, weights)
    evidence, ordering = sentence_sums(columns.sentences.T, columns.layout, weights)
    evidence, ordering = counting(evidence, ordering, single[columns.document_of])
    best = best_sentences(evidence, columns.document_of, len(columns.documents), len(weights.w))
    top = np.append(evidence, -np.inf)[best]
    documents, context, shares = document_sum(columns.documents, columns.layout, top, single, weights)
    sentences = evidence + ordering + weights.alpha_context * context[columns.document_of]
    return Blend(documents, sentences, context, best, columns, shares)


def scaled(columns: Columns, normalise: Normalise) -> Columns:
    """The columns as they go into the sums; signed ones as they are."""
    if normalise == "none":
        return columns
    layout, question_of = columns.layout, columns.question_of
    first = np.arange(len(layout.documents)) == 0
    scale = partial(zscores, bm25=first) if normalise == "zscore" else minmax
    documents = _unless(layout.signed, layout.documents, columns.documents, scale(columns.documents, question_of))
    if normalise == "zscore":
        return replace(columns, documents=documents)
    sentences = minmax(columns.sentences, question_of[columns.document_of])
    sentences = _unless(layout.signed, layout.sentences, columns.sentences, sentences)
    return replace(columns, documents=documents, sentences=sentences)


def _unless(signed: Collection[str], names: Sequence[str], given: F64, found: F64) -> F64:
    """The columns that were `found`, but those `given` that are signed."""
    return np.where([name in signed for name in names], given, found) if signed else found


def listed(columns: Columns, weights: Weights) -> Bool:
    """Which documents (D,) are of a question whose candidates are single sentences, if the weights name that case."""
    if weights.single is None:
        return np.zeros(len(columns.documents), bool)
    found = single_sentences(columns.document_of, columns.question_of, columns.questions)
    return np.asarray(found[columns.question_of])


def counting(evidence: F64, ordering: F64, single: Bool) -> tuple[F64, F64]:
    """Both parts of the sentence sums (…, N); of `single` sentences (N,) all is evidence for their document, too."""
    if not single.any():
        return evidence, ordering
    return evidence + np.where(single, ordering, 0.0), np.where(single, 0.0, ordering)


def sentence_sums(scores: F64, layout: Layout, weights: Weights) -> tuple[F64, F64]:
    """S_SENT without context, in two parts: the weighted sum of scores (P, …) that are evidence, and of the others.

    Column by column: a matrix product may round the same row differently from place to place and so break a tie.
    """
    evidence, ordering = np.zeros(scores.shape[1:]), np.zeros(scores.shape[1:])
    for column, name in zip(scores, layout.sentences, strict=True):
        part = ordering if name in layout.ordering else evidence
        part += weights.alpha[name] * column
    return evidence, ordering


def document_sum(columns: F64, layout: Layout, top: F64, single: Bool, weights: Weights) -> tuple[F64, F64, F64]:
    """S_DOC (D,), S_CONTEXT (D,), and what each document column and each best sentence add to S_DOC (D, K + R).

    `columns` (D, K); `top` (D, R) are the best sums of evidence over sentences of each document, -inf where there are
    fewer; `single` (D,) as in `listed`. A column that the weights don't name weighs 0.
    """
    present = top > -np.inf
    top = np.where(present, top, 0.0)
    w = np.where(present, weights.beta_sentences * np.array(weights.w), 0.0)
    beta_single = weights.beta_single
    betas = (np.where(single, beta_single.get(name, 0.0), weights.beta.get(name, 0.0)) for name in layout.documents)
    own = [beta * column for beta, column in zip(betas, columns.T, strict=True)]
    base: F64 = sum(own, np.zeros(len(columns)))
    if weights.context in RECURSIVE:
        documents = base + (w * top).sum(axis=1)
        if weights.context == "fixpoint":
            documents = documents / (1 - weights.alpha_context * np.where(single, 0.0, w.sum(axis=1)))
        context = np.where(single, 0.0, documents)
        inside = context if weights.context == "fixpoint" else np.zeros(len(columns))
    else:
        context = inside = np.where(single, 0.0, columns[:, layout.documents.index(weights.context)])
        documents = base + (w * (top + weights.alpha_context * inside[:, None])).sum(axis=1)
    return documents, context, np.column_stack([*own, w * (top + weights.alpha_context * inside[:, None])])


def best_sentences(values: F64, document_of: I64, documents: int, ranks: int) -> I64:
    """The numbers (documents, ranks) of each document's best sentences, the earlier of equal ones first, -1 for none.

    By sorting, so that one document of 40,000 sentences does not widen a table for all; `best_of` is faster where the
    same columns are blended many times.
    """
    order = np.append(np.lexsort((-values, document_of)), -1)
    counts = np.bincount(document_of, minlength=documents)[:, None]
    first = np.cumsum(counts)[:, None] - counts
    best: I64 = order[np.where(np.arange(ranks) < counts, first + np.arange(ranks), -1)]
    return best


def slots(group_of: I64, groups: int) -> I64:
    """The members of each group, in their order, in a table (groups, most members) padded with -1.

    `group_of` (M,) is the group of each member, ascending. It lets a maximum run over all groups at once.
    """
    counts = np.bincount(group_of, minlength=groups)
    place = np.arange(len(group_of)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((groups, counts.max(initial=0)), -1, np.int64)
    table[group_of, place] = np.arange(len(group_of))
    return table


def best_of(values: F64, table: I64, ranks: int) -> I64:
    """The members (groups, ranks) of highest value in each row of `slots`, best first.

    The earlier of equal ones comes first, and -1 stands where a group has fewer.
    """
    places = best_places(np.append(values, -np.inf)[table], ranks)
    if not table.size:
        return places
    return np.where(places >= 0, np.take_along_axis(table, np.maximum(places, 0), axis=1), -1)


def best_places(values: F64, ranks: int) -> I64:
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


def document_order(columns: Columns, scores: F64) -> I64:
    """All documents (D,), question by question, best first; equal scores by the first column, then by the input."""
    index = np.arange(len(scores))
    order: I64 = np.lexsort((index, -columns.first, -scores, columns.question_of))
    return order
