"""Rows with titles as queries: an abstract's own conclusions against the nearest ones of other abstracts."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from mpir.core.checksum import fingerprint
from mpir.core.text import Document, Question
from mpir.core.text.split import sentences
from mpir.errors import InputError, format_names
from mpir.files.corpora.corpus import read_collection
from mpir.lab.train.negative_inputs import NegativeInputs, TrainingRow, training_row
from mpir.lab.train.negative_settings import NegativeSettings
from mpir.lab.train.sentence_pool import AnswerFilter, SentencePool, unit_vectors
from mpir.lab.train.topic_negatives import nearest_rows
from mpir.models.embedding_model import PooledEncoder

CONCLUSIONS = 2
"""The last sentences of an abstract, which answer its title."""
SHORTEST, LONGEST = 40, 500
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
    texts = [s.text for s in sentences(document) if s.section == "abstract" and SHORTEST <= len(s.text) <= LONGEST]
    return texts[-CONCLUSIONS:]
