"""Mentions: a lexicon's concepts in sentences, each with its offsets in the original text and its status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from mpir.core.text.types import Sentence
from mpir.lab.annotate.lexicon import Lexicon
from mpir.lab.annotate.match import ExactMatcher, Match
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
