"""The cascade: a cheap first pass over the sentences of a question, so that only the promising ones are scored."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np

from mpir.perspectives.normalization import minmax
from mpir.rank.sentence_lists import sentence_lists
from mpir.types import F64, I64
from mpir.validation import real_number

AUTO: Literal["auto"] = "auto"
DEFAULT_SHARE = 0.6
FEWEST = 100
"""Share and number are chosen in docs/evidence/cascade.md; a share of few sentences would lose more."""
FURTHER = 0.2
"""Share of the sentences beyond those 100 that the adaptive cascade lets through."""
Share: TypeAlias = float | Literal["auto"] | None


def check_share(share: Share) -> Share:
    """Return the share, "auto", or None for no cascade. Raises InputError unless it is above 0 and at most 1."""
    expected = f"the share of sentences to score, above 0 and at most 1 (such as {DEFAULT_SHARE}), or {AUTO}"
    if share is None or share == AUTO:
        return share
    return real_number("cascade", share, expected, lambda value: 0 < value <= 1)


def sentence_budget(share: float | Literal["auto"], count: int) -> int:
    """The number of a question's sentences that are scored: a share of them, but at least 100.

    By "auto" it is 100 and a fifth of the others: the more candidates, the more of their sentences are hopeless.
    """
    if share == AUTO:
        return FEWEST + part_of(FURTHER, max(0, count - FEWEST))
    return max(FEWEST, part_of(share, count))


def first_pass(lexical: F64, bm25: F64, document_of: I64, share: Share) -> I64:
    """The sentences (numbers, ascending) of one question that go on to the perspectives; all of them for None.

    Of N sentences as many as `sentence_budget` says go on: first the most promising one of every document, so that each
    document still gets a sentence score (these go on even where there are more of them), then the most promising of
    the rest. A sentence's promise is the sum of its own BM25 and its document's S_BM25 (see `promise`); of equally
    promising ones the earlier goes on. The others are no candidates at all: they have no score, and are no snippet.
    Where so few would make documents a list of single sentences, the two most promising of each go on first.

    Args:
        lexical: (N,) BM25 of each sentence among the question's sentences.
        bm25: (D,) S_BM25 of the documents.
        document_of: (N,) the document of each sentence, ascending.
        share: as `check_share` has it.
    """
    if share is None:
        return np.arange(len(document_of))
    count, values = sentence_budget(share, len(document_of)), promise(lexical, bm25, document_of)
    rows = most_promising(values, document_of, count)
    if _single(document_of[rows], bm25) and not _single(document_of, bm25):
        return most_promising(values, document_of, count, each=2)
    return rows


def _single(document_of: I64, bm25: F64) -> bool:
    """Whether these documents are single sentences, which are ranked as a sentence list."""
    return bool(sentence_lists(document_of, np.zeros(len(bm25), np.int64), 1)[0])


def part_of(share: float, count: int) -> int:
    """⌈share·count⌉, where 0.55 of 100 is 55 (the product of the two as floats is a little more)."""
    return math.ceil(share * count - 1e-9)


def promise(lexical: F64, bm25: F64, document_of: I64) -> F64:
    """How promising each sentence (N,) is: lexical + S_BM25 of its document, each min-max normalised in the question.

    Both count alike, and on any scale: S_BM25 may be any first stage's score.
    """
    return minmax(lexical, np.zeros_like(document_of)) + minmax(bm25, np.zeros(len(bm25), np.int64))[document_of]


def most_promising(values: F64, document_of: I64, count: int, *, each: int = 1) -> I64:
    """The numbers (ascending) of the `count` sentences of highest value, the best `each` of a document among them."""
    by_document = np.lexsort((-values, document_of))
    first = np.flatnonzero(np.diff(document_of[by_document], prepend=-1))
    counts = np.diff(first, append=len(by_document))
    best = by_document[np.arange(len(by_document)) - np.repeat(first, counts) < each]
    is_other = np.ones(len(values), bool)
    is_other[best] = False
    order = np.lexsort((-values, is_other))
    return np.sort(order[: max(count, len(best))])
