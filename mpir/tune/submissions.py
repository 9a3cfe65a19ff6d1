"""Submissions of all questions at once: the best documents, and the best sentences inside them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mpir.bioasq.measures import Measured, measure_snippets
from mpir.core.blend import (
    document_order,
    document_sums,
    scaled,
    sentence_sums,
)
from mpir.core.columns import Layout
from mpir.core.cutoffs import SUBMISSION_LIMIT, TEN_EACH, Cutoff, Cutoffs
from mpir.core.text import Question, Snippet
from mpir.core.weights import Normalise, Weights
from mpir.tune.dataset import Dataset
from mpir.tune.judgements import judge
from mpir.types import F64, I64


class Pool:
    """A scored set prepared for many rankings: its labels, and its columns in tables.

    Tables of sentences have a row for each position in a document, a column for each document, and one more column for
    index -1, so that operations run over all documents at once.
    """

    def __init__(self, scored: Dataset) -> None:
        """Compute everything that does not depend on weights. Raises InputError without gold."""
        self.scored, self.judgements = scored, judge(scored)
        columns = scored.columns
        sentence_table = slots(columns.document_of, len(columns.documents)).T
        self.sentences = np.append(sentence_table, np.full((len(sentence_table), 1), -1), axis=1)
        # Documents in the order that breaks ties: by first-stage score, then by position.
        order = document_order(columns, np.zeros(len(columns.documents)))
        self.documents = np.append(order, -1)[slots(columns.query_of, len(scored.questions))]
        self.touching = bool((self.judgements.cluster >= 0).any())
        self._tables: dict[Normalise, tuple[F64, F64]] = {}

    def blended(self, weights: Weights) -> Submissions:
        """Return the submissions of the blend, computed as in core/blend.py but over tables.

        Raises:
            InputError: the weights are for other columns.
        """
        columns = self.scored.columns
        weights.check_columns(columns.layout)
        return Submissions(self, *self._sums(columns.layout, weights), cutoffs=weights.cutoffs or TEN_EACH)

    def _sums(self, layout: Layout, weights: Weights) -> tuple[F64, F64, F64]:
        """Return S_DOC (D,), S_SENT without context as a table, and the context's addition to each sentence (D,)."""
        columns, scores = self._table(weights.normalise)
        evidence, ordering = sentence_sums(scores, layout, weights)
        evidence += self._empty
        sums = document_sums(columns, layout, highest(evidence[:, :-1], len(weights.w)), weights)
        ordering += evidence
        return sums.scores, ordering, weights.alpha_context * sums.context

    def answers(self, documents: F64, sentences: F64) -> Submissions:
        """Return the submissions for scores of documents (D,) and sentences (N,)."""
        return Submissions(self, documents, np.append(sentences, -np.inf)[self.sentences], np.zeros(len(documents)))

    @cached_property
    def _empty(self) -> F64:
        """-inf in cells without a sentence, else 0."""
        return np.where(self.sentences < 0, -np.inf, 0.0)

    def _table(self, normalise: Normalise) -> tuple[F64, F64]:
        """Return the document columns (D, K) and the tables of sentence columns (P, S, D + 1)."""
        if normalise not in self._tables:
            columns = scaled(self.scored.columns, normalise)
            padded = np.append(columns.sentences, np.zeros((1, columns.sentences.shape[1])), axis=0)
            tables = np.ascontiguousarray(padded.T[:, self.sentences])
            self._tables[normalise] = (np.asfortranarray(columns.documents), tables)
        return self._tables[normalise]


def highest(values: F64, ranks: int) -> F64:
    """Return the highest values (columns, ranks) of each column, best first, and -inf if there are fewer."""
    best = np.full((ranks, values.shape[1]), -np.inf)
    for row in values:
        left = row
        for maximum in best:
            beaten = np.minimum(maximum, left)
            np.maximum(maximum, left, out=maximum)
            left = beaten
    return best.T


class Submissions:
    """The submissions of Q questions for given scores, computed on first access.

    `documents` (Q, K) and `snippets` (Q, K) are numbers of candidates and sentences, best first, followed by -1 after
    the last one or the cut-off.
    """

    def __init__(
        self, pool: Pool, documents: F64, sentences: F64, context: F64, *, cutoffs: Cutoffs = TEN_EACH
    ) -> None:
        """Store scores of documents (D,), a table of sentences, and each document's addition to its sentences (D,).

        `cutoffs` must not have a probability.
        """
        self.pool, self.judgements, self.cutoffs = pool, pool.judgements, cutoffs
        self._scores, self._sentences, self._context = documents, sentences, context

    @cached_property
    def documents(self) -> I64:
        """The best documents; ties are broken by the first stage's score, then by the order of candidates."""
        documents = best_of(self._scores, self.pool.documents, SUBMISSION_LIMIT)
        if self.cutoffs.documents == Cutoff():
            return documents
        lowest = np.append(self._scores, np.inf)[self.pool.documents].min(axis=1, initial=np.inf)
        return _cut(documents, np.append(self._scores, -np.inf)[documents], lowest, self.cutoffs.documents)

    @cached_property
    def snippets(self) -> I64:
        """The best sentences of the best documents; ties are broken by the order of documents, then of text."""
        table, documents = self.pool.sentences, self.documents
        depth = len(table)
        scores = self._sentences.take(documents, axis=1, mode="wrap").transpose(1, 2, 0)
        scores = (scores + np.append(self._context, 0.0)[documents][:, :, None]).reshape(len(documents), -1)
        cells = self._cells(scores)
        owners = np.take_along_axis(documents, np.maximum(cells, 0) // max(depth, 1), axis=1)
        return np.where(cells >= 0, table[cells % depth, owners], -1) if depth else cells

    def _cells(self, scores: F64) -> I64:
        """Return the columns (Q, K) of submitted scores (Q, M), which are overwritten; -1 after the last one."""
        cutoff = self.cutoffs.snippets
        if cutoff == Cutoff():
            return best_columns(scores, SUBMISSION_LIMIT)
        lowest = np.where(np.isfinite(scores), scores, np.inf).min(axis=1, initial=np.inf)
        cells = best_columns(scores.copy(), SUBMISSION_LIMIT)
        ranked = np.where(cells >= 0, np.take_along_axis(scores, np.maximum(cells, 0), axis=1), -np.inf)
        return _cut(cells, ranked, lowest, cutoff)

    @cached_property
    def merged(self) -> I64:
        """The questions with touching snippets, which the official program merges."""
        if not self.pool.touching:
            return np.zeros(0, np.int64)
        cluster = np.append(self.judgements.cluster, -1)[self.snippets]
        cluster.sort(axis=1)
        return np.flatnonzero(((cluster[:, 1:] == cluster[:, :-1]) & (cluster[:, 1:] >= 0)).any(axis=1))

    def row(self, question: int, version: int) -> Measured:
        """Compute the official snippet measures of one question, by the code that measures submissions."""
        scored = self.pool.scored
        numbers = [number for number in self.snippets[question].tolist() if number >= 0]
        snippets = tuple(_snippet(scored, number) for number in numbers)
        gold = scored.questions[question]
        return measure_snippets(gold, Question(gold.id, gold.body, snippets=snippets), version)


def _cut(rows: I64, ranked: F64, lowest: F64, cutoff: Cutoff) -> I64:
    """Apply a cut-off to the numbers (Q, K) of the best, given their scores (Q, K) and the lowest scores (Q,)."""
    lowest = np.where(np.isfinite(lowest), lowest, 0.0)
    return np.where(cutoff.submitted(ranked, lowest), rows, -1)


def _snippet(scored: Dataset, number: int) -> Snippet:
    section = str(scored.sections[number])
    document = str(scored.documents[scored.columns.document_of[number]])
    return Snippet(
        document=document,
        begin_section=section,
        end_section=section,
        begin=int(scored.begin[number]),
        end=int(scored.end[number]),
        text="",
    )


def slots(group_of: I64, groups: int) -> I64:
    """Return the members of each group, in their order, as a table (groups, largest group) padded with -1.

    `group_of` (M,) is the group of each member, ascending. With the table, one maximum covers all groups at once.
    """
    counts = np.bincount(group_of, minlength=groups)
    position = np.arange(len(group_of)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((groups, counts.max(initial=0)), -1, np.int64)
    table[group_of, position] = np.arange(len(group_of))
    return table


def best_of(values: F64, table: I64, ranks: int) -> I64:
    """Return the members (groups, ranks) of highest value in each row of `slots`, best first.

    Ties keep the input order; -1 pads groups with fewer members.
    """
    columns = best_columns(np.append(values, -np.inf)[table], ranks)
    if not table.size:
        return columns
    return np.where(columns >= 0, np.take_along_axis(table, np.maximum(columns, 0), axis=1), -1)


def best_columns(values: F64, ranks: int) -> I64:
    """Return the columns (rows, ranks) of the highest values in each row, best first, -1 if only -inf is left.

    Ties keep the input order. The function takes a maximum `ranks` times instead of sorting; `values` must be
    contiguous and is overwritten.
    """
    count, width = values.shape
    columns, maxima = np.full((ranks, count), -1, np.int64), np.full((ranks, count), -np.inf)
    flat, row_starts = values.reshape(-1), np.arange(count) * width
    for rank in range(min(ranks, width)):
        columns[rank] = values.argmax(axis=1)
        index = row_starts + columns[rank]
        maxima[rank] = flat[index]
        flat[index] = -np.inf
    return np.where(maxima > -np.inf, columns, -1).T
