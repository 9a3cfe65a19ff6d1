"""Passages: adjacent sentences of one section, joined if both score well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mpir.validation import real_number

LONGEST = 3
"""Maximum number of sentences in a passage."""


class ScoredSpan(NamedTuple):
    """The section, offsets (end exclusive) and blended score of a sentence."""

    section: str
    begin: int
    end: int
    score: float


def join_adjacent(spans: Sequence[ScoredSpan], share: float) -> list[list[int]]:
    """Group a document's sentences into passages, best first: lists of sentence indices, each in the order of the text.

    The best sentence starts the first passage. A neighbour in the same section joins it if it scores at least `share`
    of the way from the document's lowest score to that sentence's; the better neighbour comes first, and a passage has
    at most `LONGEST` sentences. The best remaining sentence starts the next passage. Equal scores keep the input order.

    Raises:
        InputError: a share outside 0 to 1.
    """
    real_number("the share of joined sentences", share, "a number from 0 to 1", lambda value: 0 <= value <= 1)
    ordered = sorted(range(len(spans)), key=lambda number: spans[number][:2])
    position = {number: index for index, number in enumerate(ordered)}
    lowest = min((span.score for span in spans), default=0.0)
    free = set(ordered)
    passages = []
    for first in sorted(ordered, key=lambda number: (-spans[number].score, number)):
        if first in free:
            limit = lowest + share * (spans[first].score - lowest)
            begin, end = _grown(spans, ordered, free, at=position[first], limit=limit)
            passages.append(ordered[begin:end])
            free -= set(passages[-1])
    return passages


def _grown(
    spans: Sequence[ScoredSpan], ordered: Sequence[int], free: set[int], *, at: int, limit: float
) -> tuple[int, int]:
    """Return the begin and end of the passage around a position of the ordered sentences."""
    begin, end = at, at + 1
    section = spans[ordered[at]].section
    while end - begin < LONGEST:
        neighbours = [
            (spans[ordered[index]].score, index)
            for index in (begin - 1, end)
            if 0 <= index < len(ordered)
            and ordered[index] in free
            and spans[ordered[index]].section == section
            and spans[ordered[index]].score >= limit
        ]
        if not neighbours:
            break
        index = max(neighbours)[1]
        begin, end = min(begin, index), max(end, index + 1)
    return begin, end
