"""Rows of score 0: a question with the fact that answers a similar question.

BM25 finds a few similar questions for each, so that the number of pairs for the STS perspective grows linearly with
the number of questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mpir.core.text import Document
from mpir.core.text.characters import normalise
from mpir.errors import InputError
from mpir.lab.sia.facts import names
from mpir.lab.sia.rows import Item, SiaRow, words_of
from mpir.models.perspectives import Perspective, score_pairs
from mpir.search import LuceneIndex, build_index
from mpir.types import F64, Bool

SimilarPair = tuple[Item, Item]
CANDIDATES = 4
SAME = 4.8
"""Questions with at least this STS similarity (of 5) are treated as paraphrases."""
RIVAL, SHARED = 0.6, 0.5
"""A fact may answer if it has this share of the answering fact's relevance, or more than this share of its terms."""
SIMILAR_PAIR = "pair: similar"
BINS = "similarity of the nearest question at least "


@dataclass(frozen=True, slots=True)
class Models:
    """The perspectives that compare questions and facts."""

    sts: Perspective
    relevance: Perspective


def index_items(items: Iterable[Item], folder: str | Path, source: dict[str, str]) -> None:
    """Build a Lucene index of the items by question, which also stores the other data that rows need."""
    documents = (
        Document(str(number), item.question, "\n".join([item.full, item.answer, item.id, item.origin, *item.partial]))
        for number, item in enumerate(items)
    )
    build_index(documents, folder, source=source)


def similar_rows(
    items: Sequence[Item], index: LuceneIndex, models: Models, threshold: float, seed: int
) -> tuple[list[SiaRow], Counter[str]]:
    """Score 0: each of two similar questions with the fact that answers the other.

    Pairs whose STS similarity is below `threshold`, or so high that both ask the same, are left out. Beyond the paper,
    so are rows whose fact may answer: on the same matter, or nearly as relevant as the answering fact.
    """
    results = index.search_batch([item.question for item in items], CANDIDATES + 1)
    pairs = [
        (item, second)
        for item, documents in zip(items, results, strict=True)
        for second in map(_item, documents)
        if normalise(second.question) != normalise(item.question)
    ]
    values = score_pairs([models.sts], [(first.question, second.question) for first, second in pairs]).values[:, 0]
    counts = Counter({"questions": len(items), **_nearest(pairs, values)})
    counts["pair: below the threshold"] = int((values < threshold).sum())
    counts["pair: the same question"] = int((values >= SAME).sum())
    counts[SIMILAR_PAIR] = len(pairs) - counts["pair: below the threshold"] - counts["pair: the same question"]
    scored_pairs = [(value, *pair) for pair, value in zip(pairs, values, strict=True) if threshold <= value < SAME]
    both = [
        (value, *direction) for value, first, second in scored_pairs for direction in ((first, second), (second, first))
    ]
    strange = [(value, first, second) for value, first, second in both if not _same_matter(first, second)]
    chosen = _most_similar(strange)
    rows = [
        question.row(source.full, 0, "similar", seed, source.id)
        for (question, source), rival in zip(chosen, _rivals(chosen, models.relevance), strict=True)
        if not rival
    ]
    counts["row: the same matter"] = len(both) - len(strange)
    counts["row: not the most similar"] = len(strange) - len(chosen)
    counts["row: the fact may answer"] = len(chosen) - len(rows)
    return rows, counts


def _most_similar(pairs: Sequence[tuple[float, Item, Item]]) -> list[SimilarPair]:
    """Keep the most similar pair of each question, so that no question has many rows of one score."""
    best: dict[str, tuple[float, Item, Item]] = {}
    for value, first, second in pairs:
        if first.id not in best or value > best[first.id][0]:
            best[first.id] = (value, first, second)
    return [(first, second) for _, first, second in best.values()]


def _nearest(pairs: Sequence[SimilarPair], values: F64) -> Counter[str]:
    """Count the questions whose nearest other question reaches each similarity, in steps of 0.1."""
    nearest: dict[str, float] = {}
    for (item, _), value in zip(pairs, values, strict=True):
        if value < SAME:
            nearest[item.id] = max(nearest.get(item.id, 0.0), float(value))
    return Counter(f"{BINS}{n / 10:.1f}" for value in nearest.values() for n in range(1, int(value * 10) + 1))


def _rivals(pairs: Sequence[SimilarPair], relevance: Perspective) -> Bool:
    """Whether the second item's fact is nearly as relevant to the first's question as its own fact (N,)."""
    own_facts = [(question.question, question.full) for question, _ in pairs]
    other_facts = [(question.question, source.full) for question, source in pairs]
    values = score_pairs([relevance], [*own_facts, *other_facts]).values[:, 0]
    return np.asarray(values[len(pairs) :] >= RIVAL * values[: len(pairs)])


def _same_matter(question: Item, source: Item) -> bool:
    """Whether a fact names the question's answer or comes from similar facts; QASC often asks about one repeatedly."""
    return names(source.full, question.answer) or _share_a_fact(question, source)


def _share_a_fact(first: Item, second: Item) -> bool:
    return any(
        _alike(words_of([a]), words_of([b]))
        for a in (first.full, *first.partial)
        for b in (second.full, *second.partial)
    )


def _alike(first: set[str], second: set[str]) -> bool:
    """Whether two texts say much the same: most of the shorter one's terms are in the longer one."""
    return len(first & second) > SHARED * min(len(first), len(second))


def _item(document: Document) -> Item:
    full, answer, identity, origin, *partial = document.abstract.split("\n")
    return Item(id=identity, question=document.title, full=full, partial=tuple(partial), answer=answer, origin=origin)


def check_found(counts: Mapping[str, int], threshold: float) -> None:
    """Raise InputError if no pair reached the threshold; it suggests a value that one question in ten reaches."""
    if counts.get(SIMILAR_PAIR):
        return
    expected = max(1, counts.get("questions", 0) // 10)
    reached = [float(name.removeprefix(BINS)) for name, n in counts.items() if name.startswith(BINS) and n >= expected]
    advice = f"try sia.threshold={max(reached):g}" if reached else "there are too few questions that share a word"
    raise InputError(f"similar questions: no pair reaches the similarity {threshold:g} of 5; {advice}.")


def public(counts: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """The counts of pairs and rows, which reports show."""
    return ((name, n) for name, n in counts.items() if not name.startswith(BINS))
