"""The blend: columns normalised within each query, and two weighted sums of them, as a function of arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.core.columns import Column, Columns, Layout
from mpir.core.weights import RECURSIVE, Normalise, Weights
from mpir.types import F64, I64

USUAL, FEW = 0.133, 5
"""The prior for BM25's deviation, as a share of the best score (the median over 170 BioASQ dev questions with 30
candidates each), and its strength as a number of candidates (docs/evidence/negative-results.md)."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A slope and an intercept for each document or sentence (core/calibration.py)."""

    slopes: F64
    intercepts: F64


@dataclass(frozen=True, slots=True, kw_only=True)
class Blend:
    """Blended scores and their summands.

    `documents` (D,) is S_DOC, `sentences` (N,) S_SENT, and `context` (D,) S_CONTEXT, zeros if its weight is 0. `best`
    (D, R) holds each document's R best sentences by evidence, without ordering columns (-1 if a document has fewer).
    `columns` are the scaled columns, and `document_shares` (D, K + R) the contributions of each document column and
    each best sentence to S_DOC.

    On the lines of a calibration, sums are log-odds: `document_intercepts` (D,) are a summand then, and
    `sentence_lines` what the weighted sums of sentences were mapped by; both are None otherwise.
    """

    documents: F64
    sentences: F64
    context: F64
    best: I64
    columns: Columns
    document_shares: F64
    document_intercepts: F64 | None = None
    sentence_lines: Lines | None = None

    def on_lines(self, of_documents: Lines, of_sentences: Lines) -> Blend:
        """Return the blend with its sums, and the shares in them, mapped by lines of documents and of sentences."""
        return replace(
            self,
            documents=of_documents.slopes * self.documents + of_documents.intercepts,
            sentences=of_sentences.slopes * self.sentences + of_sentences.intercepts,
            document_shares=of_documents.slopes[:, None] * self.document_shares,
            document_intercepts=of_documents.intercepts,
            sentence_lines=of_sentences,
        )


@dataclass(frozen=True, slots=True)
class DocumentSums:
    """S_DOC (D,), S_CONTEXT (D,), and the shares (D, K + R) of each document column and best sentence in S_DOC."""

    scores: F64
    context: F64
    shares: F64


def blend(columns: Columns, weights: Weights) -> Blend:
    """Compute S_SENT and S_DOC of every sentence and document.

    Raises:
        InputError: the weights are for other columns.
    """
    weights.check_columns(columns.layout)
    columns = scaled(columns, weights.normalise)
    evidence, ordering = sentence_sums(columns.sentences.T, columns.layout, weights)
    best = best_sentences(evidence, columns.document_of, len(columns.documents), len(weights.w))
    sums = document_sums(columns.documents, columns.layout, np.append(evidence, -np.inf)[best], weights)
    return Blend(
        documents=sums.scores,
        sentences=evidence + ordering + weights.alpha_context * sums.context[columns.document_of],
        context=sums.context,
        best=best,
        columns=columns,
        document_shares=sums.shares,
    )


def scaled(columns: Columns, normalise: Normalise) -> Columns:
    """Return the columns rescaled for the sums; signed columns are unchanged."""
    if normalise == "none":
        return columns
    layout, query_of = columns.layout, columns.query_of
    first_stage = [column.role == "first_stage" for column in layout.document_columns]
    scale = partial(zscores, bm25=first_stage) if normalise == "zscore" else minmax
    documents = _unless_signed(layout.document_columns, columns.documents, scale(columns.documents, query_of))
    if normalise == "zscore":
        return replace(columns, documents=documents)
    sentences = minmax(columns.sentences, query_of[columns.document_of])
    sentences = _unless_signed(layout.sentence_columns, columns.sentences, sentences)
    return replace(columns, documents=documents, sentences=sentences)


def _unless_signed(columns: tuple[Column, ...], scores: F64, rescaled: F64) -> F64:
    """Return the rescaled scores, with the original scores in signed columns."""
    signed = [column.signed for column in columns]
    return np.where(signed, scores, rescaled) if any(signed) else rescaled


def sentence_sums(scores: F64, layout: Layout, weights: Weights) -> tuple[F64, F64]:
    """Return S_SENT without context in two terms: the weighted sums of evidence and of ordering columns.

    `scores` (P, …) has a row for each column. The sum is computed column by column, because a matrix product may round
    equal rows differently and so break a tie.
    """
    evidence, ordering = np.zeros(scores.shape[1:]), np.zeros(scores.shape[1:])
    for values, column in zip(scores, layout.sentence_columns, strict=True):
        total = ordering if column.role == "ordering" else evidence
        total += weights.alpha[column.name] * values
    return evidence, ordering


def document_sums(scores: F64, layout: Layout, top: F64, weights: Weights) -> DocumentSums:
    """Return S_DOC with its context and its shares.

    `scores` (D, K) are the document columns; `top` (D, R) the highest sums of evidence among each document's sentences,
    -inf if there are fewer. A column that the weights don't name has the weight 0.
    """
    present = top > -np.inf
    top, w = np.where(present, top, 0.0), np.where(present, weights.beta_sentences * np.array(weights.w), 0.0)
    by_column = [weights.beta.get(name, 0.0) * column for name, column in zip(layout.documents, scores.T, strict=True)]
    base: F64 = sum(by_column, np.zeros(len(scores)))
    without_context = base + (w * top).sum(axis=1)
    if weights.context == "fixpoint":
        without_context = without_context / (1 - weights.alpha_context * w.sum(axis=1))
    context = context_scores(without_context, scores, layout, weights)
    # S_DOC as context is added to sentences only; the fixed point and a column also enter the sentence sums of S_DOC
    inside = np.zeros(len(scores)) if weights.context == "document" else context
    by_sentence = w * (top + weights.alpha_context * inside[:, None])
    documents = without_context if weights.context in RECURSIVE else base + by_sentence.sum(axis=1)
    return DocumentSums(documents, context, np.column_stack([*by_column, by_sentence]))


def context_scores(documents: F64, scores: F64, layout: Layout, weights: Weights) -> F64:
    """Return S_CONTEXT (D,): S_DOC (`documents`), a document column of `scores` (D, K), or zeros without a weight."""
    if not weights.alpha_context:
        return np.zeros(len(scores))
    if weights.context in RECURSIVE:
        return documents
    return scores[:, layout.documents.index(weights.context)]


def best_sentences(values: F64, document_of: I64, documents: int, ranks: int) -> I64:
    """Return the indices (documents, ranks) of each document's best sentences, ties in input order, -1 for none.

    The function sorts, so that one document of 40,000 sentences does not widen a table for all.
    """
    order = np.append(np.lexsort((-values, document_of)), -1)
    counts = np.bincount(document_of, minlength=documents)[:, None]
    first = np.cumsum(counts)[:, None] - counts
    best: I64 = order[np.where(np.arange(ranks) < counts, first + np.arange(ranks), -1)]
    return best


def document_order(columns: Columns, scores: F64) -> I64:
    """Return all documents (D,), query by query, best first; ties by the first stage, then by the input order."""
    index = np.arange(len(scores))
    order: I64 = np.lexsort((index, -columns.first_stage, -scores, columns.query_of))
    return order


def minmax(values: npt.NDArray[Any], group_of: I64) -> F64:
    """Map each column to 0-1 within each group; a column that is constant in a group becomes 0.5 there."""
    if not len(values):
        return values.astype(np.float64)
    starts, segment = _groups(group_of)
    low = np.minimum.reduceat(values, starts, axis=0)[segment]
    width = np.maximum.reduceat(values, starts, axis=0)[segment] - low
    return np.where(width > 0, (values - low) / np.where(width > 0, width, 1.0), 0.5)


def zscores(values: npt.NDArray[Any], group_of: I64, bm25: npt.ArrayLike = False) -> F64:
    """Map each column to mean 0 and standard deviation 1 within each group; a constant column becomes 0 there.

    The deviation of BM25 columns (`bm25`, (K,)) is shrunk toward a prior, because top hits score alike: its lower bound
    is the deviation with `FEW` additional values that deviate by `USUAL` times the group's best. Columns with values
    below 0 are not BM25. The result does not depend on the order of a group's members, not even in its rounding.
    """
    if not len(values):
        return values.astype(np.float64)
    starts, segment = _groups(group_of)
    counts = np.bincount(segment).reshape(-1, *[1] * (values.ndim - 1))
    order = _descending(values, segment)
    centred = values - (np.add.reduceat(np.take_along_axis(values, order, 0), starts, axis=0) / counts)[segment]
    best, lowest = np.maximum.reduceat(values, starts, axis=0), np.minimum.reduceat(values, starts, axis=0)
    pseudo_count = np.where(np.logical_and(bm25, lowest >= 0), FEW, 0)
    squares = np.add.reduceat(np.take_along_axis(centred, order, 0) ** 2, starts, axis=0)
    variance, drawn = squares / counts, (squares + pseudo_count * (USUAL * best) ** 2) / (counts + pseudo_count)
    told_apart = np.sqrt(variance) > 1e-9 * np.maximum(best, -lowest)  # smaller differences are rounding errors
    spread = np.where(told_apart, np.sqrt(np.maximum(variance, drawn)), 1.0)
    return np.where(told_apart[segment], centred / spread[segment], 0.0)


def _groups(group_of: I64) -> tuple[I64, I64]:
    """Return the beginning of each group (G,), and the number (N,) of each member's group."""
    begins = np.diff(group_of, prepend=-1) != 0
    return np.flatnonzero(begins), np.cumsum(begins) - 1


def _descending(values: npt.NDArray[Any], segment: I64) -> I64:
    """Return the rows that sort each column within its groups, highest first: a fixed order for sums."""
    by_value = np.argsort(-values, axis=0, kind="stable")
    return np.take_along_axis(by_value, np.argsort(segment[by_value], axis=0, kind="stable"), 0)
