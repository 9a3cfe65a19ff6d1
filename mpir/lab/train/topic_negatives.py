"""Negatives on other topics: gold sentences of other queries or, for titles as queries, conclusions of other abstracts.

Positives and negatives of a query come from the same kind of text, so that length or style does not reveal the
label.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mpir.core.checksum import fingerprint
from mpir.core.text import Document, Question
from mpir.core.text.characters import normalise
from mpir.core.text.split import sentences
from mpir.errors import InputError, format_names
from mpir.files.corpora.corpus import read_collection
from mpir.lab.gold_sentences import MIN_SENTENCE, gold_sentences, is_gold
from mpir.lab.train.negative_inputs import NegativeInputs, NegativeSettings, TrainingRow, training_row
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
        wrong = [text for text in texts if len(text) >= MIN_SENTENCE and not is_gold(text, snippets)]
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


CONCLUSIONS = 2
"""The last sentences of an abstract, which answer its title."""
SHORTEST_CONCLUSION, LONGEST_CONCLUSION = 40, 500
"""The bounds of a conclusion's length in characters."""
TITLE_WORDS, ABSTRACT_LENGTH = 5, 400
"""The fewest words of a title, and characters of its abstract."""


def title_groups(
    settings: NegativeSettings, inputs: NegativeInputs, encoder: PooledEncoder
) -> Iterator[list[TrainingRow]]:
    """Yield the rows of each title: its own conclusions (kind "title"), and those nearest by BM25 and by vectors.

    Raises:
        InputError: a broken corpus, or one without a suitable abstract.
    """
    documents = sample_documents(settings, inputs)
    texts_of = {document.id: conclusions(document) for document in documents}
    pool = SentencePool.build(((name, text) for name, texts in texts_of.items() for text in texts), encoder)
    titles = unit_vectors(encoder, [document.title for document in documents], queries=True)
    for document, vector in zip(documents, titles, strict=True):
        question, texts = Question(f"title-{document.id}", document.title), texts_of[document.id]
        allowed = AnswerFilter.of(settings.same, texts, pool, frozenset({document.id}))
        rows = nearest_rows(question, vector, pool, allowed, subset="title", limit=settings.max_negatives)
        yield [training_row(question, text, 1.0, "title") for text in texts] + rows


def sample_documents(settings: NegativeSettings, inputs: NegativeInputs) -> list[Document]:
    """Return some documents whose title and abstract are long enough, drawn by the seed and the ids.

    Gold documents of evaluation questions, and titles that are evaluation questions, are left out.

    Raises:
        InputError: a broken corpus, or one without a suitable document.
    """
    suitable = (document for document in read_collection(settings.corpus) if is_suitable(document, inputs))
    drawn = heapq.nsmallest(settings.max_titles, suitable, key=lambda d: fingerprint([settings.seed, d.id]))
    if not drawn:
        raise InputError(
            f"{format_names(settings.corpus)}: no document has a title of {TITLE_WORDS} words and an abstract of "
            f"{ABSTRACT_LENGTH} characters; give a corpus of abstracts."
        )
    return drawn


def is_suitable(document: Document, inputs: NegativeInputs) -> bool:
    """Whether a document's title may be trained on, and its abstract is long enough to have a conclusion."""
    if document.id in inputs.excluded_documents or inputs.evaluation.holds(document.id, document.title):
        return False
    return len(document.title.split()) >= TITLE_WORDS and len(document.abstract) >= ABSTRACT_LENGTH


def conclusions(document: Document) -> list[str]:
    """Return the last sentences of an abstract that are neither very short nor very long."""
    texts = [
        s.text
        for s in sentences(document)
        if s.section == "abstract" and SHORTEST_CONCLUSION <= len(s.text) <= LONGEST_CONCLUSION
    ]
    return texts[-CONCLUSIONS:]
