"""Mentions: a lexicon's concepts in sentences, each with its offsets in the original text and its status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

from mpir.core.text.phrases import ANY_ENDING, Span, canonical, compiled, covering, occurrences
from mpir.core.text.types import Sentence
from mpir.lab.annotate.lexicon import Entry, Lexicon
from mpir.lab.annotate.negation import NegEx, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A concept at ``text[begin:end]`` of a section (or of the string that was annotated).

    `phrase` is the phrase as the lexicon spells it; `trigger` is the text that decided the status, "" for none.
    """

    concept: str
    phrase: str
    begin: int
    end: int
    status: Status
    trigger: str


class Matcher(Protocol):
    """Finds a lexicon's phrases in a text, exactly or approximately."""

    def find(self, text: str) -> list[Match]:
        """The mentions of a text, in reading order."""


def annotate(
    sentences: Iterable[Sentence | str],
    lexicon: Lexicon,
    *,
    negation: NegEx | None = None,
    matcher: Matcher | None = None,
) -> Iterator[list[Mention]]:
    """Yield the mentions of each sentence, in reading order.

    Offsets point into the sentence's section, or into the sentence itself where it is a plain string. By default,
    `negation` uses the shipped triggers and `matcher` finds the lexicon's phrases word for word.
    """
    negation = negation or _default()
    matcher = matcher or ExactMatcher(lexicon)
    for sentence in sentences:
        text, start = (sentence, 0) if isinstance(sentence, str) else (sentence.text, sentence.begin)
        matches = matcher.find(text)
        verdicts = negation.judge(text, [(match.begin, match.end) for match in matches])
        yield [
            Mention(
                concept=m.entry.concept,
                phrase=m.entry.phrase,
                begin=start + m.begin,
                end=start + m.end,
                status=v.status,
                trigger=v.trigger,
            )
            for m, v in zip(matches, verdicts, strict=True)
        ]


@lru_cache(maxsize=1)
def _default() -> NegEx:
    return NegEx.load()


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
