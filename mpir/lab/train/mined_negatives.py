"""Mine negatives from first-stage candidates: the highest-scored sentences that are not gold.

Sentences with scores close to the gold ones are left out, because they are likely to be unjudged answers (Moreira et
al., "NV-Retriever: Improving text embedding models with effective hard-negative mining", 2024).
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from mpir.core.checksum import fingerprint
from mpir.core.text import Document, Question
from mpir.core.text.characters import normalise
from mpir.core.text.split import sentences
from mpir.files.checksum import sha256
from mpir.files.journal import Journal
from mpir.lab.gold_sentences import gold_sentences, may_be_gold
from mpir.lab.train.negative_inputs import SCORES_SUFFIX, NegativeInputs, NegativeSettings, TrainingRow, training_row
from mpir.models.perspectives import score_pairs

if TYPE_CHECKING:
    from mpir.models.perspectives import Perspective
    from mpir.search import Retriever

POSITIVES = 4
"""Maximum number of gold sentences of a question."""
MIN_SENTENCE, MAX_SENTENCE = 30, 600
"""The bounds of a candidate sentence's length in characters."""
QUESTIONS_PER_BATCH = 16


def mined_groups(
    settings: NegativeSettings, inputs: NegativeInputs, index: Retriever, perspective: Perspective
) -> Iterator[list[TrainingRow]]:
    """Yield the rows of each question, after scoring the candidates of all.

    Scores are recorded in a journal next to the output, from which an interrupted run resumes, and which a run with
    other `skip`, `below` or `negatives` reuses.

    Raises:
        OutputError: the journal cannot be written, or is not one.
    """
    paths = [path for path in (settings.questions, *settings.exclude) if path]
    identity = {
        "perspective": perspective.fingerprint,
        "index": fingerprint(dict(index.identity)),
        "documents": settings.documents,
        "seed": settings.seed,
        "files": [sha256(path) for path in paths],
    }
    with Journal(f"{settings.output}{SCORES_SUFFIX}", identity) as journal:
        _score(settings, inputs, index, perspective, journal)
        for question in inputs.questions:
            yield choose_negatives(question, journal.records[question.id], settings)


def searched_groups(
    settings: NegativeSettings, inputs: NegativeInputs, index: Retriever
) -> Iterator[list[TrainingRow]]:
    """Yield gold sentences of each question, and sentences of search results by chance, without gold documents.

    These are the relevance rows of Rawal & Baral (2020): ranks do not matter, and nothing is scored.
    """
    for start in range(0, len(inputs.questions), QUESTIONS_PER_BATCH):
        batch = inputs.questions[start : start + QUESTIONS_PER_BATCH]
        depth = settings.documents + max(len(question.documents or ()) for question in batch)
        for question, hits in zip(batch, index.search_batch([q.body for q in batch], depth), strict=True):
            texts = candidate_sentences(question, hits, settings, inputs)
            draw = random.Random(f"{settings.seed} {question.id}")
            chosen = draw.sample(texts, min(settings.max_negatives, len(texts)))
            rows = [training_row(question, text, 1.0, "golden") for text in sample_gold(question, settings.seed)]
            yield rows + [training_row(question, text, 0.0, "searched") for text in chosen]


def _score(
    settings: NegativeSettings, inputs: NegativeInputs, index: Retriever, perspective: Perspective, journal: Journal
) -> None:
    """Score the gold sentences and the candidates of every question that the journal lacks."""
    missing = [question for question in inputs.questions if question.id not in journal.records]
    with tqdm(total=len(missing), desc="mining", unit="question", disable=not sys.stderr.isatty()) as bar:
        for start in range(0, len(missing), QUESTIONS_PER_BATCH):
            batch = missing[start : start + QUESTIONS_PER_BATCH]
            depth = settings.documents + max(len(question.documents or ()) for question in batch)
            hits = index.search_batch([question.body for question in batch], depth)
            texts = [
                (sample_gold(question, settings.seed), candidate_sentences(question, documents, settings, inputs))
                for question, documents in zip(batch, hits, strict=True)
            ]
            pairs = [
                (q.body, text) for q, groups in zip(batch, texts, strict=True) for group in groups for text in group
            ]
            values = iter(score_pairs([perspective], pairs).values[:, 0].round(5).tolist())
            for question, groups in zip(batch, texts, strict=True):
                gold, candidates = [[[text, next(values)] for text in group] for group in groups]
                journal.add(question.id, {"gold": gold, "candidates": candidates})
            bar.update(len(batch))


def sample_gold(question: Question, seed: int) -> list[str]:
    """Return some gold sentences of a question, drawn by the seed and the question's id."""
    texts = gold_sentences(question)
    return random.Random(f"{seed} {question.id}").sample(texts, min(POSITIVES, len(texts)))


def candidate_sentences(
    question: Question, hits: Sequence[Document], settings: NegativeSettings, inputs: NegativeInputs
) -> list[str]:
    """Return the distinct sentences of the best hits that are not gold documents, without those that may be gold."""
    snippets = [normalise(snippet.text) for snippet in question.snippets or ()]
    gold = set(question.documents or ())
    documents = [document for document in hits if document.id not in gold][: settings.documents]
    texts = dict.fromkeys(sentence.text for document in documents for sentence in sentences(document))
    return [
        text
        for text in texts
        if MIN_SENTENCE <= len(text) <= MAX_SENTENCE
        and normalise(text) not in inputs.excluded_sentences
        and not may_be_gold(text, snippets)
    ]


def choose_negatives(question: Question, record: Mapping[str, Any], settings: NegativeSettings) -> list[TrainingRow]:
    """Return a question's gold sentences and its highest-scored candidates below the threshold.

    The threshold is the gold sentences' mean score, less the share 1 - `below` of the mean's size (scores may be
    negative).
    """
    if not record["gold"]:
        return []
    mean = float(np.mean([score for _, score in record["gold"]]))
    threshold = mean - (1 - settings.below) * abs(mean)
    ranked = sorted(record["candidates"], key=lambda item: -item[1])[settings.skip :]
    negatives = [text for text, score in ranked if score < threshold][: settings.max_negatives]
    rows = [training_row(question, text, 1.0, "golden") for text, _ in record["gold"]]
    return rows + [training_row(question, text, 0.0, "mined") for text in negatives]
