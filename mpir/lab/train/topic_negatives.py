"""Negatives on other topics: gold sentences of other questions.

Positives and negatives of a question come from the same kind of text, so that length or style does not reveal the
label.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mpir.core.text import Document, Question
from mpir.core.text.characters import normalise
from mpir.core.text.gold_sentences import SHORTEST, gold_sentences, is_gold
from mpir.core.text.split import sentences
from mpir.lab.train.negative_inputs import NegativeInputs, TrainingRow, training_row
from mpir.lab.train.negative_settings import NegativeSettings
from mpir.lab.train.sentence_pool import AnswerFilter, SentencePool, unit_vectors
from mpir.models.embedding_model import PooledEncoder
from mpir.types import F32

if TYPE_CHECKING:
    from mpir.search import Retriever

POSITIVES, RANDOM = 12, 2
"""Maximum numbers of gold sentences and random negatives of a question."""
CANDIDATES, CANDIDATE_DOCUMENTS, CANDIDATE_SENTENCES = 40, 12, 8
"""First-stage results of a question, and how many of them, and of their sentences, are drawn."""
QUESTIONS_PER_BATCH = 64


class TopicNegatives:
    """The gold sentences of all questions as a pool, from which each question gets its negatives."""

    def __init__(self, settings: NegativeSettings, inputs: NegativeInputs, encoder: PooledEncoder) -> None:
        """Encode the questions and their gold sentences, without those that are gold for evaluation questions."""
        self.settings, self.inputs, self.encoder = settings, inputs, encoder
        self.gold = {
            question.id: [text for text in gold_sentences(question) if normalise(text) not in inputs.excluded_sentences]
            for question in inputs.questions
        }
        self.pool = SentencePool.build(((name, text) for name, texts in self.gold.items() for text in texts), encoder)
        self.vectors = unit_vectors(encoder, [question.body for question in inputs.questions], queries=True)

    def groups(self, index: Retriever | None = None) -> Iterator[list[TrainingRow]]:
        """Yield the rows of each question.

        Negatives are the nearest sentences by BM25 (kind "topic-bm25") and by vectors ("topic-vector"), some at random
        ("random"), and, with an index, sentences of its results (kind: the index's name, such as "bm25").
        """
        count = len(self.inputs.questions)
        for start in range(0, count, QUESTIONS_PER_BATCH):
            numbers = range(start, min(start + QUESTIONS_PER_BATCH, count))
            filters = [self.filter_of(number) for number in numbers]
            groups = [self.rows(number, allowed) for number, allowed in zip(numbers, filters, strict=True)]
            if index is not None:
                self._add_candidates(index, numbers, groups, filters)
            yield from groups

    def filter_of(self, number: int) -> AnswerFilter:
        """Return the filter of a question: its gold sentences, and the questions that ask nearly the same."""
        questions = self.inputs.questions
        alike = np.flatnonzero(self.vectors @ self.vectors[number] >= self.settings.alike)
        owners = frozenset({questions[number].id, *(questions[i].id for i in alike)})
        return AnswerFilter.of(self.settings.same, self.gold[questions[number].id], self.pool, owners)

    def rows(self, number: int, allowed: AnswerFilter) -> list[TrainingRow]:
        """Return the gold sentences of a question, and negatives from the pool."""
        question, limit = self.inputs.questions[number], self.settings.max_negatives
        generator, gold = self._generator(question, "pool"), self.gold[question.id]
        positives = generator.sample(gold, min(POSITIVES, len(gold)))
        rows = nearest_rows(question, self.vectors[number], self.pool, allowed, subset="topic", limit=limit)
        used = {row["sentence"] for row in rows}
        texts = self.pool.texts
        drawn = generator.sample(range(len(texts)), min(4 * RANDOM, len(texts)))
        chosen = [i for i in drawn if texts[i] not in used and allowed.allows(i, self.pool)][:RANDOM]
        rows += [training_row(question, texts[i], 0.0, "random") for i in chosen]
        return [training_row(question, text, 1.0, "golden") for text in positives] + rows

    def _add_candidates(
        self, index: Retriever, numbers: range, groups: Sequence[list[TrainingRow]], filters: Sequence[AnswerFilter]
    ) -> None:
        """Add sentences of the first stage's results to the rows of a batch of questions."""
        batch = [self.inputs.questions[number] for number in numbers]
        hits = index.search_batch([question.body for question in batch], CANDIDATES)
        drawn = [
            self._candidate_sentences(question, documents, rows, allowed)
            for question, documents, rows, allowed in zip(batch, hits, groups, filters, strict=True)
        ]
        vectors = iter(unit_vectors(self.encoder, [text for texts in drawn for text in texts]))
        for question, texts, rows, allowed in zip(batch, drawn, groups, filters, strict=True):
            different = [text for text in texts if allowed.differs(text, next(vectors))]
            rows += [training_row(question, text, 0.0, index.name) for text in different]

    def _candidate_sentences(
        self, question: Question, hits: Sequence[Document], rows: Sequence[TrainingRow], allowed: AnswerFilter
    ) -> list[str]:
        """Return sentences of some results that are not gold for this question or a similar one."""
        generator, gold = self._generator(question, "candidates"), set(question.documents or ())
        snippets = [normalise(snippet.text) for snippet in question.snippets or ()]
        near = [document for document in hits if document.id not in gold]
        documents = generator.sample(near, min(CANDIDATE_DOCUMENTS, len(near)))
        texts = [sentence.text for document in documents for sentence in sentences(document)]
        wrong = [text for text in texts if len(text) >= SHORTEST and not is_gold(text, snippets)]
        drawn = dict.fromkeys(generator.sample(wrong, min(CANDIDATE_SENTENCES, len(wrong))))
        used = {row["sentence"] for row in rows}.union(*(self.gold[name] for name in allowed.owners))
        barred = {normalise(text) for text in used} | self.inputs.excluded_sentences
        return [text for text in drawn if normalise(text) not in barred]

    def _generator(self, question: Question, purpose: str) -> random.Random:
        """Return a generator that depends only on the seed, the question and the purpose."""
        return random.Random(f"{self.settings.seed} {purpose} {question.id}")


def nearest_rows(
    question: Question,
    vector: F32,
    pool: SentencePool,
    allowed: AnswerFilter,
    *,
    subset: str,
    limit: int,
) -> list[TrainingRow]:
    """Return the nearest allowed sentences of a pool, at most `limit` by BM25 and by vectors each, none twice."""
    rows, used = [], set[int]()
    for ranking, numbers in pool.nearest(question.body, vector).items():
        chosen = [i for i in numbers if i not in used and allowed.allows(i, pool)][:limit]
        used.update(chosen)
        rows += [training_row(question, pool.texts[i], 0.0, f"{subset}-{ranking}") for i in chosen]
    return rows
