"""Rows of score 4 and 2: the fact that answers a question, and the better of the facts that it was combined from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from mpir.perspectives import Perspective, score_pairs
from mpir.sia.rows import Item, SiaRow
from mpir.train.leakage import normalise


def combined_rows(items: Sequence[Item], seed: int) -> Iterator[SiaRow]:
    """4: every question with the fact that answers it."""
    for item in items:
        yield item.row(item.full, 4, "combined", seed)


def partial_rows(items: Sequence[Item], relevance: Perspective, seed: int) -> tuple[list[SiaRow], Counter[str]]:
    """2: of a question's partial facts the one that `relevance` scores higher (Rawal & Baral's heuristic).

    Beyond the paper, a fact that names the answer and is at least as relevant as the combined fact is left out: alone,
    it answers the question. So is one that says the same as the combined fact.

    Returns:
        The rows, and how many items gave none, by reason.
    """
    pairs = [(item.question, sentence) for item in items for sentence in (item.full, *item.partial)]
    scores = score_pairs([relevance], pairs).values[:, 0]
    rows, counts, start = [], Counter[str](), 0
    for item in items:
        own = scores[start : (start := start + 1 + len(item.partial))]
        if not item.partial:
            counts["no partial fact"] += 1
            continue
        best = int(np.argmax(own[1:]))
        fact = item.partial[best]
        if _answers(item, fact, bool(own[1 + best] >= own[0])):
            counts["the fact answers alone"] += 1
        else:
            rows.append(item.row(fact, 2, "partial", seed))
    return rows, counts


def _answers(item: Item, fact: str, as_relevant: bool) -> bool:
    return normalise(fact) == normalise(item.full) or (as_relevant and names(fact, item.answer))


def names(text: str, answer: str) -> bool:
    """Whether the text names the answer, in the same words and order, however it is punctuated."""
    return bool(normalise(answer)) and f" {normalise(answer)} " in f" {normalise(text)} "
