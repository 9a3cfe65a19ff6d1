"""Find the phrases of a lexicon in a text, word for word."""

from __future__ import annotations

from typing import NamedTuple

from mpir.lab.annotate.lexicon import Entry, Lexicon
from mpir.lab.annotate.phrases import ANY_ENDING, Span, canonical, compiled, covering, occurrences


class Match(NamedTuple):
    """A phrase of the lexicon at ``text[begin:end]``."""

    begin: int
    end: int
    entry: Entry


class ExactMatcher:
    """Finds all phrases in one pass: whole words in any case; of overlapping phrases the first, then the longest."""

    name = "exact"

    def __init__(self, lexicon: Lexicon) -> None:
        """Compile a lexicon."""
        self._phrases = lexicon.phrases
        self._pattern = compiled(self._phrases)
        self._excluding = {concept: compiled(phrases) for concept, phrases in lexicon.exclusions.items()}
        self._stems = tuple(sorted((p for p in self._phrases if p.endswith(ANY_ENDING)), key=len, reverse=True))

    def find(self, text: str) -> list[Match]:
        """The mentions of a text, in reading order and without overlaps."""
        spans = list(occurrences(self._pattern, text))
        matches = [Match(begin, end, self._look_up(text[begin:end])) for begin, end in spans]
        return self.without_excluded(text, matches)

    def _look_up(self, matched: str) -> Entry:
        """The longest phrase that fits a matched piece of text."""
        words = canonical(matched)
        stem = next((candidate for candidate in self._stems if words.startswith(candidate[:-1])), "")
        exact = self._phrases.get(words)
        return exact if exact is not None and len(words) >= len(stem) - 1 else self._phrases[stem]

    def without_excluded(self, text: str, matches: list[Match]) -> list[Match]:
        """The matches, except those inside a phrase that excludes their concept."""
        concepts = {match.entry.concept for match in matches} & self._excluding.keys()
        spans = {concept: occurrences(self._excluding[concept], text) for concept in concepts}
        return [match for match in matches if not _is_inside(match, spans.get(match.entry.concept, []))]


def _is_inside(match: Match, spans: list[Span]) -> bool:
    number = covering(spans, match.begin)
    return number is not None and match.end <= spans[number][1]
