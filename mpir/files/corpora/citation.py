"""Where a paper was published: year, journal, volume and pages, compared as databases write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from mpir.files.corpora.bibliography import Bibliography
from mpir.files.corpora.content import journal_words

CITATION = ("year", "date", "journal", "abbreviation", "volume", "issue", "pages", "issn", "publisher")
"""Keys of the metadata that together say where a paper was published."""
_NUMBER = re.compile(r"\d+")
_RANGE = re.compile(r"\s*(\w+)\s*-\s*(\w+)")
_ACRONYM = 3
"""Minimum letters of a journal's name that may be initials."""
_LONG_NAME = 4
"""Words of a journal's name whose further words may be left out: "Proceedings of the National Academy of Sciences"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A paper's year, names of its journal, ISSN, volume and pages; unknown ones are None or blank."""

    year: int | None
    journals: tuple[str, ...]
    issn: str
    volume: str
    pages: str

    @classmethod
    def of(cls, known: Bibliography) -> Citation:
        """Return the citation of a record."""
        journals = tuple(filter(None, (known.journal, known.abbreviation)))
        return cls(year=known.year, journals=journals, issn=known.issn, volume=known.volume, pages=known.pages)

    @property
    def first_page(self) -> str:
        """The volume and first page, as "12 280", or "" without either."""
        first = self.pages.partition("-")[0].strip()
        return f"{self.volume} {first}" if self.volume and first else ""

    def in_one_journal(self, citation: Citation) -> bool | None:
        """Whether both name the same journal; None if one does not name it. Print and web may have different ISSNs."""
        if self.journals and citation.journals:
            is_same = any(same_journal(first, second) for first in self.journals for second in citation.journals)
            return is_same or bool(self.issn and self.issn == citation.issn)
        return self.issn == citation.issn if self.issn and citation.issn else None

    def contradicts(self, citation: Citation) -> bool:
        """Whether years are more than one apart, or journals, volumes or ranges of pages differ, if both have them."""
        if self.year is not None and citation.year is not None and abs(self.year - citation.year) > 1:
            return True
        volumes = [set(_NUMBER.findall(volume)) for volume in (self.volume, citation.volume)]
        if all(volumes) and volumes[0].isdisjoint(volumes[1]):
            return True
        return self.in_one_journal(citation) is False or not _same_pages(self.pages, citation.pages)


def _same_pages(first: str, second: str) -> bool:
    """Whether two ranges of pages agree ("123-130", "123-30"); a single number may be that of the article."""
    ranges = _RANGE.match(first), _RANGE.match(second)
    if not ranges[0] or not ranges[1]:
        return True
    begins, ends = zip(ranges[0].groups(), ranges[1].groups(), strict=True)
    return begins[0] == begins[1] and (ends[0].endswith(ends[1]) or ends[1].endswith(ends[0]))


@lru_cache(maxsize=2**12)
def same_journal(first: str, second: str) -> bool:
    """Whether two names are one journal's, perhaps abbreviated: "N Engl J Med", "BMJ (Clinical research ed.)"."""
    if first == second:
        return True
    variants = [[journal_words(name), journal_words(name.partition(" : ")[0])] for name in (first, second)]
    return any(_are_alike(*sorted((names, words), key=len)) for names in variants[0] for words in variants[1])


def _are_alike(short: Sequence[str], long: Sequence[str]) -> bool:
    """Whether the words of two names abbreviate each other, or the shorter one is the longer one's initials."""
    if not short or short == long:
        return short == long
    if len(short) == 1 < len(long) and len(short[0]) >= _ACRONYM:
        return "".join(word[0] for word in long).startswith(short[0])
    is_whole = len(short) == len(long) or len(short) >= _LONG_NAME
    return is_whole and all(map(_abbreviates, short, long))


def _abbreviates(first: str, second: str) -> bool:
    """Whether one word abbreviates the other: its beginning, or some of its letters in their order ("Natl")."""
    short, long = sorted((first, second), key=len)
    letters = iter(long)
    return short[0] == long[0] and all(letter in letters for letter in short)
