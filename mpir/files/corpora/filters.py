"""Filter documents by year and publication type, if their records have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from mpir.core.text import Document
from mpir.errors import InputError, format_names, format_value
from mpir.files.corpora.bibliography import Bibliography
from mpir.files.corpora.publication_types import type_key, with_narrower


@dataclass(frozen=True, kw_only=True)
class RecordFilter:
    """Years (inclusive) and publication types that a document must have; None and () allow all.

    A type includes those below it in NLM's tree: "clinical trial" allows randomised trials.

    Raises:
        InputError: the first year is after the last one.
    """

    first_year: int | None = None
    last_year: int | None = None
    types: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.first_year is not None and self.last_year is not None and self.first_year > self.last_year:
            raise InputError(
                f"the first year {self.first_year} is after the last year {self.last_year}; swap the two years."
            )

    @property
    def by_year(self) -> bool:
        """Whether the filter restricts years."""
        return self.first_year is not None or self.last_year is not None

    def apply(self, documents: Sequence[Document]) -> tuple[list[Document], dict[str, int]]:
        """Return the matching documents in their order, and the number of excluded ones by reason.

        Raises:
            InputError: a type that no document has, or no document matches.
        """
        self._check_types(documents)
        reasons = {"of other years": 0, "without a year": 0, "of other types": 0, "without a type": 0}
        passing = []
        for document in documents:
            if reason := self._reason(document):
                reasons[reason] += 1
            else:
                passing.append(document)
        counts = {reason: count for reason, count in reasons.items() if count}
        if not passing:
            raise InputError(f"no document matches the filter ({format_counts(counts)}); widen the dates or the types.")
        return passing, counts

    def _reason(self, document: Document) -> str:
        """Return the reason for excluding a document, or "" if it matches."""
        known = Bibliography.of(document.metadata)
        types = set(map(type_key, known.types))
        if self.by_year and known.year is None:
            return "without a year"
        if self.by_year and known.year is not None and not self._has_year(known.year):
            return "of other years"
        if self.types and not types:
            return "without a type"
        return "of other types" if self.types and types.isdisjoint(self._types) else ""

    @cached_property
    def _types(self) -> frozenset[str]:
        return frozenset().union(*map(_folded, self.types))

    def _has_year(self, year: int) -> bool:
        return (self.first_year is None or year >= self.first_year) and (
            self.last_year is None or year <= self.last_year
        )

    def _check_types(self, documents: Iterable[Document]) -> None:
        known = {type_key(name): name for document in documents for name in Bibliography.of(document.metadata).types}
        for name in self.types:
            if _folded(name).isdisjoint(known):
                nearest = get_close_matches(type_key(name), known, n=3, cutoff=0) or ()
                names = format_names([known[key] for key in nearest]) if nearest else "none at all"
                raise InputError(f"no document has the type {format_value(name)} (the documents have {names}).")


def format_counts(counts: dict[str, int]) -> str:
    """Format the counts of documents by reason: "3 of other years, 1 without a year"."""
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


def _folded(name: str) -> frozenset[str]:
    """The names of a type and of those below it, as they are compared."""
    return frozenset(map(type_key, with_narrower(name)))
