"""Compile any number of phrases into one regular expression, longest first, for one pass over a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import itemgetter

from mpir.core.text.characters import LIGATURES

Span = tuple[int, int]
ANY_ENDING = "*"
GAP = "\ue00a"
"""In place of a word of a phrase: up to six words."""
_GAP = r"[\s\-]++(?:[^\W_]++[\s\-]++){0,6}?"
_JOIN = re.compile(r"[\s\-]+")
_ADDRESS = re.compile(r"(?<!\S)\S*?(?:://|www\.|@)\S+")
_LETTERS = str.maketrans(LIGATURES)
_LIGATURE = re.compile(f"[{''.join(LIGATURES)}]")
_MAY_HAVE_ADDRESS = re.compile(r"://|www\.|@")


def fold(text: str) -> str:
    """Lower-case character by character, which keeps the text's length and so its offsets."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(folded if len(folded := character.lower()) == 1 else character for character in text)
    return lower.replace("ς", "σ")  # lower-casing turns a capital Σ into either form, depending on its neighbours


@lru_cache(maxsize=2**12)  # few triggers are most of a text's
def canonical(phrase: str) -> str:
    """A phrase or a matched piece of text in the form for comparison: lower case, single spaces, no ligatures."""
    words = _JOIN.sub(" ", fold(phrase)).strip()
    return words if words.isascii() else words.translate(_LETTERS)


def compiled(phrases: Iterable[str]) -> re.Pattern[str]:
    """One pattern for canonical phrases, to search a folded text.

    It matches whole words with any white space or hyphens between them, and prefers the longest of several phrases; a
    phrase that ends with ``*`` matches any ending. Phrases are grouped by their first letters, so most are never tried.
    """
    groups: dict[str, list[str]] = {}
    gapped: dict[str, list[str]] = {}
    for phrase in sorted(set(phrases), key=lambda text: (-len(text.rstrip(ANY_ENDING)), text)):
        beginning, gap, ending = phrase.partition(f" {GAP} ")
        if gap:
            gapped.setdefault(beginning, []).append(ending)
        else:
            groups.setdefault(phrase.rstrip(ANY_ENDING).split(" ")[0][:2], []).append(phrase)
    alternatives = [
        re.escape(start) + "(?:" + "|".join(_escape(phrase[len(start) :]) for phrase in members) + ")"
        for start, members in sorted(groups.items(), key=lambda item: -len(item[0]))
    ]
    gaps = [rf"{_escape(beginning)}{_GAP}(?:{'|'.join(map(_escape, ends))})" for beginning, ends in gapped.items()]
    return re.compile(rf"(?<!\w)(?:{'|'.join(gaps + alternatives)})(?!\w)")


def _escape(phrase: str) -> str:
    stem = r"[\s\-]++".join(re.escape(word) for word in phrase.rstrip(ANY_ENDING).split(" "))
    return stem + r"\w*+" if phrase.endswith(ANY_ENDING) else stem


def occurrences(pattern: re.Pattern[str], text: str, folded: str = "") -> list[Span]:
    """The spans where a pattern from `compiled` matches a text, outside web addresses, mail addresses and numbers.

    Args:
        pattern: the phrases.
        text: the text.
        folded: the text as `fold` returns it, if the caller has it.
    """
    folded = folded or fold(text)
    if folded.isascii() or not _LIGATURE.search(folded):
        spans = [match.span() for match in pattern.finditer(folded)]
    else:
        spans = _printed(pattern, folded)
    return outside(text, spans) if spans else spans


def _printed(pattern: re.Pattern[str], folded: str) -> list[Span]:
    """The spans of a pattern in a folded text whose ligatures the pattern sees as separate letters."""
    offsets = [offset for offset, character in enumerate(folded) for _ in LIGATURES.get(character, character)]
    matches = pattern.finditer(folded.translate(_LETTERS))
    return [(offsets[match.start()], offsets[match.end() - 1] + 1) for match in matches]


def outside(text: str, spans: Sequence[Span]) -> list[Span]:
    """The spans that are not inside a web address, a mail address or a number."""
    addresses = [match.span() for match in _ADDRESS.finditer(text)] if _MAY_HAVE_ADDRESS.search(text) else []
    return [
        (begin, end)
        for begin, end in spans
        if covering(addresses, begin) is None and not _part_of_number(text, begin, end)
    ]


def covering(spans: Sequence[Span], offset: int) -> int | None:
    """The index of the span that contains an offset, among ascending spans without overlaps; None without one."""
    number = bisect_right(spans, offset, key=itemgetter(0)) - 1
    return number if number >= 0 and offset < spans[number][1] else None


def _part_of_number(text: str, begin: int, end: int) -> bool:
    """Whether the span is the 5 of "2.5" or of "5/8", and so on."""
    before = text[begin].isdigit() and begin > 1 and text[begin - 1] in ".,/:" and text[begin - 2].isdigit()
    after = text[end - 1].isdigit() and text[end : end + 1] in tuple(".,/:") and text[end + 1 : end + 2].isdigit()
    return before or after
