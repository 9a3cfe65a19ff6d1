"""A row of SIA data, and the meaning of each method and its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

SCALE = {4: "exactly the information", 3: "almost all of it", 2: "a part of it", 1: "very little", 0: "none"}

METHODS = {
    "combined": "4: the fact that answers the question",
    "partial": "2: the one of the two facts behind it that fits the question better, but not as well as it",
    "similar": "0: the fact that answers a similar question",
    "swap-combined": "3: the fact that answers, some of its entities' words replaced by near ones, the answer kept",
    "swap-partial": "1: the partial fact, some of its entities' words replaced by near ones",
    "golden": "4: a sentence that is a whole gold snippet; of a question's, the two most relevant ones",
    "fragment": "2: the first two fifths of what a gold sentence tells that answers a summary question",
    "cut": "1: the half of a gold sentence that lacks a factoid question's answer",
    "beside": "1: a sentence of a gold document that is no part of a snippet, yet shares a term with the question",
    "wrong": "0: a sentence of a document that BM25 finds near but that is not gold",
    "coverage": "4 to 0: the share of the exact answer's items that a sentence names",
}
"""Rows made from sentences with generated queries bear the prefix ``generated-``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiaRow:
    """A judgement of how much (`sia_score`, 0 to 4) of the information that `query` asks for is in `sentence`."""

    query: str
    sentence: str
    sia_score: int
    method: str
    source_ids: tuple[str, ...]
    seed: int

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SiaRow:
        """Restore a row from a record."""
        return cls(**{**values, "source_ids": tuple(values["source_ids"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A question, the sentence that answers it (`full`), and sentences with a part of the answer (`partial`).

    `answer` holds the words of the answer, where known; `origin` is a prefix of the methods' names.
    """

    id: str
    question: str
    full: str
    partial: tuple[str, ...] = ()
    answer: str = ""
    origin: str = ""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Item:
        """Restore an item from a record."""
        return cls(**{**values, "partial": tuple(values["partial"])})

    def row(self, sentence: str, score: int, method: str, seed: int, *related: str) -> SiaRow:
        """A row for this item's question; `related` are ids of further sources."""
        return SiaRow(
            query=self.question,
            sentence=sentence,
            sia_score=score,
            method=self.origin + method,
            source_ids=(self.id, *related),
            seed=seed,
        )


def random_of(seed: int, *names: str) -> Random:
    """A generator for one purpose, which depends only on the seed and names, not on earlier draws."""
    return Random("\n".join([str(seed), *names]))


def one_line(text: str) -> str:
    """The text with runs of white space replaced by one space."""
    return " ".join(text.split())


def words_of(texts: Sequence[str]) -> set[str]:
    """The BM25 terms of some texts."""
    from mpir.core.text.terms import terms

    return {term for text in texts for term in terms(text)}
