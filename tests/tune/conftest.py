"""Random scored questions with gold: overlapping sentences and snippets, ties, empty questions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mpir.core.candidates import Candidates
from mpir.core.columns import Columns, Layout
from mpir.core.text import Document, Question, Sentence, Snippet
from mpir.reranking.prepare import unscored_candidates
from mpir.tune.dataset import Dataset

Pairs = list[tuple[Question, Candidates]]


def random_pairs(
    seed: int, questions: int = 5, *, documents: int = 14, sentences: int = 4, touching: bool = True
) -> Pairs:
    """Questions with up to `documents` candidates of up to `sentences`; few different values, so ties are common."""
    generator = np.random.default_rng(seed)
    counts = [int(count) for count in generator.integers(0, documents + 1, questions)]
    return [_pair(generator, f"q{n}", count, sentences, touching) for n, count in enumerate(counts)]


def _pair(
    generator: np.random.Generator, name: str, documents: int, most: int, touching: bool
) -> tuple[Question, Candidates]:
    candidates = tuple(
        Document(f"d{i}", "t" * 60, "a" * 60, score=float(generator.integers(4))) for i in range(documents)
    )
    sentences, owners = [], []
    for owner, document in enumerate(candidates):
        for number in range(int(generator.integers(0, most + 1))):
            section = ("title", "abstract")[int(generator.integers(2))]
            begin = int(generator.integers(0, 40)) if touching else number * 12
            end = begin + (int(generator.integers(1, 15)) if touching else 10)
            sentences.append(
                Sentence(
                    document=document.id,
                    section=section,
                    begin=begin,
                    end=end,
                    text=document.sections[section][begin:end],
                )
            )
            owners.append(owner)
    scores = (
        np.round(generator.random((len(sentences), 2)) * 3) / 2 + 0.1 * generator.random((len(sentences), 2)).round()
    )
    columns = Columns(
        layout=Layout.of(("bm25",), ("a", "b")),
        documents=np.array([[document.score] for document in candidates], float).reshape(documents, 1),
        sentences=scores,
        query_of=np.zeros(documents, np.int64),
        document_of=np.array(owners, np.int64),
    )
    scored = unscored_candidates(name, candidates, sentences=sentences, columns=columns, lexical=scores.sum(axis=1))
    return _gold(generator, name, documents), scored


def _gold(generator: np.random.Generator, name: str, documents: int) -> Question:
    gold = [f"d{i}" for i in generator.choice(documents + 5, int(generator.integers(0, 8)))]
    snippets = []
    for document in gold:
        for _ in range(int(generator.integers(0, 3))):
            sections = generator.choice(["title", "abstract", "abstract"], 2).tolist()
            begin = int(generator.integers(0, 50))
            position: Any = (
                (None, None) if generator.random() < 0.05 else (begin, begin + int(generator.integers(-1, 20)))
            )
            snippets.append(
                Snippet(
                    document=document,
                    begin_section=sections[0],
                    end_section=sections[1],
                    begin=position[0],
                    end=position[1],
                    text="text",
                )
            )
    return Question(name, f"body of {name}", type="list", documents=tuple(gold), snippets=tuple(snippets))


@pytest.fixture(scope="session")
def make_pairs() -> Callable[..., Pairs]:
    return random_pairs


@pytest.fixture(scope="session")
def learnable() -> Dataset:
    """Sixty questions in which column a says what is relevant, column b and BM25 say nothing."""
    pairs = random_pairs(7, 60, documents=12, touching=False)
    generator = np.random.default_rng(1)
    result = []
    for question, scored in pairs:
        gold = set(question.documents or ())
        helpful = np.array([float(sentence.document in gold) for sentence in scored.sentences])
        noise = generator.random((len(helpful), 2))
        scores = np.column_stack([helpful * 0.4 + noise[:, 0] * 0.6, noise[:, 1] * 5])
        result.append((question, replace(scored, columns=replace(scored.columns, sentences=scores))))
    return Dataset.collect(result, {"perspectives": {"a": "1", "b": "2"}})
