"""Rows of score 0: a question with the fact that answers a similar one.

BM25 over the questions finds a few candidates for each, so that the STS perspective sees a number of pairs that grows
with the number of questions and not with its square.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mpir.errors import InputError
from mpir.perspectives import Perspective, score_pairs
from mpir.retrieve import LuceneIndex, build_index
from mpir.sia.facts import names
from mpir.sia.rows import Item, SiaRow, words_of
from mpir.text import Document
from mpir.train.leakage import normalise

CANDIDATES = 3
SAME = 4.8
"""Questions that the STS perspective finds this similar (of 5) are taken for one question in other words."""
BINS = "similarity of the nearest question at least "


def index_items(items: Iterable[Item], folder: str | Path, source: dict[str, str]) -> None:
    """A Lucene index of the items by question, which also stores the rest of what the rows need."""
    documents = (
        Document(str(number), item.question, "\n".join([item.full, item.answer, item.id, item.origin]))
        for number, item in enumerate(items)
    )
    build_index(documents, folder, source=source)


def similar_rows(
    items: Sequence[Item], index: LuceneIndex, sts: Perspective, threshold: float, seed: int
) -> tuple[list[SiaRow], Counter[str]]:
    """0: for two similar questions, each with the fact that answers the other.

    Pairs whose similarity by `sts` is below `threshold`, or so high that both ask the same, are left out; so is a row
    whose fact names the question's own answer or holds all terms of the answering fact.
    """
    found = index.search_batch([item.question for item in items], CANDIDATES + 1)
    pairs = [
        (item, other)
        for item, documents in zip(items, found, strict=True)
        for other in map(_item, documents)
        if normalise(other.question) != normalise(item.question)
    ]
    values = score_pairs([sts], [(one.question, other.question) for one, other in pairs]).values[:, 0]
    rows, counts, nearest = [], Counter[str](), dict.fromkeys((item.id for item in items), 0.0)
    for (one, other), value in zip(pairs, values, strict=True):
        if value < SAME:
            nearest[one.id] = max(nearest[one.id], float(value))
        reason = "below the threshold" if value < threshold else "the same question" if value >= SAME else ""
        if reason:
            counts[f"pair: {reason}"] += 1
            continue
        for question, source in ((one, other), (other, one)):
            if _may_answer(question, source):
                counts["row: the fact may answer"] += 1
            else:
                rows.append(question.row(source.full, 0, "similar", seed, source.id))
    for value in nearest.values():
        counts.update(f"{BINS}{tenth / 10:.1f}" for tenth in range(1, int(value * 10) + 1))
    counts["questions"] += len(items)
    return rows, counts


def _item(document: Document) -> Item:
    full, answer, identity, origin = document.abstract.split("\n")
    return Item(identity, document.title, full, (), answer, origin)


def _may_answer(question: Item, source: Item) -> bool:
    asked = words_of([question.full])
    return names(source.full, question.answer) or asked <= words_of([source.full])


def check_found(rows: int, counts: Mapping[str, int], threshold: float) -> None:
    """Raise InputError, with a value that one question in ten reaches, if the threshold left no pairs."""
    if rows:
        return
    wanted = max(1, counts.get("questions", 0) // 10)
    reached = [float(name.removeprefix(BINS)) for name, n in counts.items() if name.startswith(BINS) and n >= wanted]
    advice = f"try --threshold {max(reached):g}" if reached else "there are too few questions that share a word"
    raise InputError(f"similar questions: no pair reaches the similarity {threshold:g} of 5; {advice}.")


def public(counts: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """The counts that a report shows: those of pairs and rows."""
    return ((name, n) for name, n in counts.items() if not name.startswith(BINS))
