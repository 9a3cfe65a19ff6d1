"""What every question would submit: its best documents, and the best sentences inside them, for all at once."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mpir.evaluate.bioasq import Row, snippet_row
from mpir.rank.blend import Floats, Integers, best_of, slots
from mpir.rank.scored_set import ScoredSet
from mpir.text import Question, Snippet
from mpir.tune.labels import label


class Pool:
    """A scored set made ready for many rankings: its labels, and tables of its documents and sentences.

    `documents`, `snippets`: how many of each a question submits at most.
    """

    def __init__(self, scored: ScoredSet, *, documents: int = 10, snippets: int = 10) -> None:
        """Compute what no ranking changes. Raises InputError where there is no gold."""
        self.scored, self.labels = scored, label(scored)
        self.limit_documents, self.limit_snippets = documents, snippets
        columns = scored.columns
        self.sentence_slots = slots(columns.document_of, len(columns.bm25))
        # Documents in the order that breaks ties: higher S_BM25, then earlier.
        order = np.lexsort((np.arange(len(columns.bm25)), -columns.bm25, columns.question_of))
        table = slots(columns.question_of, len(scored.questions))
        self.document_slots = np.append(order, -1)[table]

    def answers(self, documents: Floats, sentences: Floats) -> Answers:
        """The answers that scores of the documents (D,) and sentences (N,) give."""
        return Answers(self, documents, sentences)


class Answers:
    """The answers of Q questions for one way of scoring; computed when asked for.

    `documents` (Q, K) and `snippets` (Q, K) hold numbers of candidates and sentences, best first, -1 where there are
    no more.
    """

    def __init__(self, pool: Pool, documents: Floats, sentences: Floats) -> None:
        """Keep the scores; ranking waits until it is asked for."""
        self.pool, self.labels = pool, pool.labels
        self.document_scores, self.sentence_scores = documents, sentences

    @cached_property
    def documents(self) -> Integers:
        """The best documents; equal scores by S_BM25, then by the order of the candidates."""
        return best_of(self.document_scores, self.pool.document_slots, self.pool.limit_documents)

    @cached_property
    def snippets(self) -> Integers:
        """The best sentences of the best documents; equal scores in the order of documents, then of text."""
        table = np.where(self.documents[:, :, None] >= 0, self.pool.sentence_slots[self.documents], -1)
        flat = table.reshape(len(table), table.shape[1] * table.shape[2])
        return best_of(self.sentence_scores, flat, self.pool.limit_snippets)

    @cached_property
    def merged(self) -> Integers:
        """The questions whose snippets touch one another, so that the official program merges some."""
        cluster = np.append(self.labels.cluster, -1)[self.snippets]
        cluster.sort(axis=1)
        return np.flatnonzero(((cluster[:, 1:] == cluster[:, :-1]) & (cluster[:, 1:] >= 0)).any(axis=1))

    def row(self, question: int, version: int) -> Row:
        """The official snippet measures of one question, by the code that measures submissions."""
        scored = self.pool.scored
        numbers = [number for number in self.snippets[question].tolist() if number >= 0]
        snippets = tuple(_snippet(scored, number) for number in numbers)
        gold = scored.questions[question]
        return snippet_row(gold, Question(gold.id, gold.body, snippets=snippets), version)


def _snippet(scored: ScoredSet, number: int) -> Snippet:
    section = str(scored.sections[number])
    document = str(scored.documents[scored.columns.document_of[number]])
    return Snippet(document, section, section, int(scored.begin[number]), int(scored.end[number]), "")
