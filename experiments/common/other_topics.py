"""Gold sentences of a question against those of other questions, which are correct but about something else.

For each question, candidates are its gold snippet sentences and, from the gold sentences of other questions (those of
`train` and of the split itself), the nearest by BM25 or by a sentence encoder's vectors. Sentences that are relevant
for both questions are left out, and so are those that contain, or are contained in, a gold sentence of the question.
Some of the others still answer it, because many questions are similar; `distinct_only` leaves these out, too, as do
`mpir data negatives --source topics`.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from experiments.common.baselines import Start
from experiments.common.test_sets import TestSet
from experiments.ranking.sentences import gold_questions
from mpir.core.text import Document, Question
from mpir.core.text.characters import normalise
from mpir.core.text.split import split
from mpir.files.corpora import read_questions
from mpir.files.read import read_json
from mpir.search.memory import MemoryIndex

NEAREST = 50
"""Sentences of other questions, for each question and each way of search."""
SHORTEST, LONGEST = 20, 600
"""Characters of a sentence."""
SAME, ALIKE = 0.85, 0.8
"""Cosines from which on two sentences say the same, and two questions ask the same: those of training's negatives."""


def gold_sentences(question: Question) -> list[str]:
    """The sentences of a question's gold snippets, each once."""
    texts = [s.text[begin:end] for s in question.snippets or () for begin, end in split(s.text)]
    return [text for text in dict.fromkeys(texts) if SHORTEST <= len(text) <= LONGEST]


def other_topics(
    data: Path, split_name: str, start: Start, *, limit: int | None, seed: int, distinct_only: bool = False
) -> list[TestSet]:
    """The evaluation's two sets for questions of a split: nearest by BM25, and nearest by vectors."""
    train = set(read_json(data / "bioasq/splits.json")["train"])
    candidates = [q for q in read_questions(data / "bioasq/training.json") if q.id in train]
    with_sentences = [q for q in gold_questions(data, split_name) if gold_sentences(q)]
    sample = (
        with_sentences if limit is None else random.Random(seed).sample(with_sentences, min(limit, len(with_sentences)))
    )
    texts = list(dict.fromkeys(text for q in [*candidates, *with_sentences] for text in gold_sentences(q)))
    vectors, text_of = start.vectors(texts)
    cosines = start.to_vectors([q.body for q in sample], vectors, text_of)
    if not distinct_only:
        return sets(sample, texts, cosines)
    everyone = [*candidates, *with_sentences]
    asks = start.cosines([q.body for q in sample], [q.body for q in everyone])
    first = np.searchsorted(text_of, np.arange(len(texts)))  # sentences have one passage each, but for odd ones
    return sets(sample, texts, cosines, likely_answers(sample, everyone, asks, texts, vectors[first]))


def likely_answers(
    questions: Sequence[Question],
    everyone: Sequence[Question],
    asks: npt.NDArray[np.floating],
    texts: Sequence[str],
    vectors: npt.NDArray[np.float32],
    *,
    same: float = SAME,
    alike: float = ALIKE,
) -> list[set[int]]:
    """For each of Q questions the numbers of the N texts that likely answer it, whosever they are.

    These are relevant for a question of `everyone` (E) whose cosine in `asks` (Q, E) is `alike` or more, or have a
    cosine of `same` or more with a gold sentence of its own, by the unit `vectors` (N, W) of the texts.
    """
    numbers = {text: number for number, text in enumerate(texts)}
    gold = [{numbers[text] for text in gold_sentences(question)} for question in everyone]
    answers = []
    for question, asking in zip(questions, asks, strict=True):
        own_vectors = vectors[[numbers[text] for text in gold_sentences(question)]]
        says = np.flatnonzero((vectors @ own_vectors.T).max(axis=1) >= same)
        answers.append(set(says.tolist()).union(*(gold[number] for number in np.flatnonzero(asking >= alike))))
    return answers


def sets(
    questions: Sequence[Question],
    texts: Sequence[str],
    cosines: npt.NDArray[np.floating],
    barred: Sequence[Collection[int]] | None = None,
) -> list[TestSet]:
    """A set for each way of search over the N texts, whose documents are the texts themselves.

    `cosines` (Q, N) are those of questions and texts; `barred` has the numbers of texts that cannot be negatives of a
    question.
    """
    index = MemoryIndex(texts)
    numbers = {text: number for number, text in enumerate(texts)}
    documents = [Document(str(number), "", text) for number, text in enumerate(texts)]
    queries, own_numbers = {q.id: q.body for q in questions}, {}
    nearest: dict[str, dict[str, list[int]]] = {"BM25": {}, "vectors": {}}
    for row, question in enumerate(questions):
        own_numbers[question.id] = [numbers[text] for text in gold_sentences(question)]
        mine = [normalise(texts[i]) for i in own_numbers[question.id]]
        for name, scores in (("BM25", index.scores(question.body)), ("vectors", cosines[row])):
            nearest[name][question.id] = best_others(scores, texts, mine, barred[row] if barred else ())
    return [
        topic_set(name, queries, documents, own_numbers, nearest_numbers) for name, nearest_numbers in nearest.items()
    ]


def best_others(
    scores: npt.NDArray[np.floating], texts: Sequence[str], mine: Sequence[str], barred: Collection[int] = ()
) -> list[int]:
    """The numbers of the NEAREST best-scored texts that are not barred, and that no own one holds or is held by."""
    best_numbers: list[int] = []
    for number in np.argsort(-scores, kind="stable"):
        text = normalise(texts[number])
        if number not in barred and not any(text in text_of_gold or text_of_gold in text for text_of_gold in mine):
            best_numbers.append(int(number))
        if len(best_numbers) == NEAREST:
            break
    return best_numbers


def topic_set(
    name: str,
    queries: Mapping[str, str],
    documents: Sequence[Document],
    own_numbers: Mapping[str, list[int]],
    other_numbers: Mapping[str, list[int]],
) -> TestSet:
    """The set of one way of search: each question's own sentences are relevant, the others are not."""
    qrels = {query: {documents[i].id: 1 for i in own_numbers[query]} for query in queries}
    members = {query: [*own_numbers[query], *other_numbers[query]] for query in queries}
    return TestSet(f"other topics, {name}", queries, documents, qrels, "AP", members)
