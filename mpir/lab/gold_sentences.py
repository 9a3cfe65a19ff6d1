"""Gold sentences: those of a question's gold snippets, and texts that repeat one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mpir.core.text.characters import normalise
from mpir.core.text.split import split
from mpir.core.text.types import Question

MIN_SENTENCE, MAX_SENTENCE = 20, 600
"""The bounds of a gold sentence's length in characters."""
REPEATED_WORDS = 0.8
"""The share of the shorter text's words that a near repetition has."""


def gold_sentences(question: Question) -> list[str]:
    """Return the distinct sentences of a question's gold snippets, without very short and very long ones."""
    texts = [s.text[begin:end] for s in question.snippets or () for begin, end in split(s.text)]
    return [text for text in dict.fromkeys(texts) if MIN_SENTENCE <= len(text) <= MAX_SENTENCE]


def is_gold(sentence: str, snippets: Iterable[str]) -> bool:
    """Whether the sentence contains one of the normalised snippets or is contained in one, in whole words."""
    text = f" {normalise(sentence)} "
    return not text.isspace() and any(text in f" {snippet} " or f" {snippet} " in text for snippet in snippets)


def may_be_gold(text: str, snippets: Sequence[str]) -> bool:
    """Whether a text contains, is contained in, or nearly repeats one of the normalised snippets."""
    words = set(normalise(text).split())

    def repeats(snippet: str) -> bool:
        snippet_words = set(snippet.split())
        return len(words & snippet_words) >= REPEATED_WORDS * max(1, min(len(words), len(snippet_words)))

    return is_gold(text, snippets) or any(repeats(snippet) for snippet in snippets)
