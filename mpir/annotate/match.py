"""Where a text mentions the phrases of a lexicon, word for word."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from mpir.annotate.lexicon import Entry, Lexicon
from mpir.annotate.phrases import ANY_ENDING, Span, canonical, compiled, covering, occurrences


class Match(NamedTuple):
    """A phrase of the lexicon at ``text[begin:end]``."""

    begin: int
    end: int
    entry: Entry


class ExactMatcher:
    """All phrases of a lexicon in one pass: whole words in any case, of overlapping phrases the first and longest."""

    name = "exact"

    def __init__(self, lexicon: Lexicon) -> None:
        """Compile a lexicon."""
        self._phrases, self._exclusions = lexicon.phrases, lexicon.exclusions
        self._pattern = compiled(self._phrases)
        self._excluding = compiled(self._exclusions) if self._exclusions else None
        self._stems = tuple(sorted((p for p in self._phrases if p.endswith(ANY_ENDING)), key=len, reverse=True))
        self._entry = lru_cache(maxsize=2**14)(self._look_up)

    def find(self, text: str) -> list[Match]:
        """The mentions of a text, in reading order; none overlaps another."""
        spans = list(occurrences(self._pattern, text))
        found = [Match(begin, end, self._entry(text[begin:end])) for begin, end in spans]
        return self.without_excluded(text, found) if found and self._excluding else found

    def _look_up(self, matched: str) -> Entry:
        """The longest phrase that fits a piece of text that some phrase has matched."""
        words = canonical(matched)
        stem = next((one for one in self._stems if words.startswith(one[:-1])), "")
        exact = self._phrases.get(words)
        return exact if exact is not None and len(words) >= len(stem) - 1 else self._phrases[stem]

    def without_excluded(self, text: str, found: list[Match]) -> list[Match]:
        """The matches but for those that lie inside a phrase which excludes their concept."""
        spans = occurrences(self._excluding, text) if self._excluding else []
        return [match for match in found if not self._is_excluded(match, text, spans)]

    def _is_excluded(self, match: Match, text: str, spans: list[Span]) -> bool:
        number = covering(spans, match.begin)
        if number is None or spans[number][1] < match.end:
            return False
        begin, end = spans[number]
        return match.entry.concept in self._excludes(text[begin:end])

    def _excludes(self, matched: str) -> set[str]:
        words = canonical(matched)
        return {
            concept
            for phrase, concepts in self._exclusions.items()
            if words == phrase or (phrase.endswith(ANY_ENDING) and words.startswith(phrase[:-1]))
            for concept in concepts
        }
