"""Texts as PDF files have them: short lines, words broken at their ends, ligatures (`yardsticks.py --printed`)."""

from __future__ import annotations

import re
from dataclasses import replace

from mpir.text import Document

WIDTH = 60
LIGATURES = {"ffi": "ﬃ", "ffl": "ﬄ", "ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ"}
SYLLABLE = re.compile("(?<=[a-z][aeiouy])(?=[^aeiouy][a-z])|(?<=[a-z][^aeiouy])(?=[^aeiouy][aeiouy])")
"""Where a word is broken, roughly: behind a vowel, or between two consonants; two letters at least stay together."""


def printed(document: Document) -> Document:
    """The document with its title and abstract as on a page."""
    return replace(document, title=page(document.title), abstract=page(document.abstract))


def page(text: str) -> str:
    """The text in lines of at most WIDTH characters, where no word is longer. What does not fit is broken."""
    for letters, one in LIGATURES.items():
        text = text.replace(letters, one)
    lines, line = [], ""
    for word in text.split():
        start, rest = _broken(word, WIDTH - len(line) - 2)
        if len(line) + 1 + len(word) <= WIDTH or not line:
            line = f"{line} {word}".strip()
        elif start:
            lines.append(f"{line} {start.removesuffix('-')}-")
            line = rest
        else:
            lines.append(line)
            line = word
    return "\n".join([*lines, line])


def _broken(word: str, room: int) -> tuple[str, str]:
    """The longest start of a word that has room on the line, up to a hyphen or the end of a syllable, and the rest."""
    places = SYLLABLE.finditer(word) if word.isalpha() else re.finditer(r"(?<=[a-z]-)(?=[a-z])", word)
    ends = [match.start() for match in places if match.start() <= room]
    return (word[: ends[-1]], word[ends[-1] :]) if ends else ("", word)
