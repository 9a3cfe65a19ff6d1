"""Truncated words of searches: "thrombolys*", "colo?r", "wom#n", "*glyc?emi$"."""

from __future__ import annotations

import re

_ANY, _OPTIONAL = "\ue004", "\ue005"
"""Marks of truncation in place of a service's own: any letters, and at most one."""
_MARKS = f"[{_ANY}{_OPTIONAL}]"
_MARK = re.compile(_MARKS)
_ANY_MARK = re.compile(r"(?<=\w)[*$]\d?(?![\w:])|(?<![\w)])\*(?=[^\W\d])|(?<=[^\W\d])[*$](?=[^\W\d])")
_OPTIONAL_MARK = re.compile(r"(?<=\w)[?#](?:\d?(?!\w)|(?=\w))")
_WORD = rf"[\w{_ANY}{_OPTIONAL}]"
_TRUNCATED = re.compile(rf"(?<!{_WORD})(?=\w*+{_MARKS})(?={_MARKS}*+(?:\w{_MARKS}*+){{3}}){_WORD}++")


def with_marks(text: str) -> str:
    """Return a text with one kind of marks in place of "*", "$", "?" and "#" at or in words."""
    return _OPTIONAL_MARK.sub(_OPTIONAL, _ANY_MARK.sub(_ANY, text))


def without_marks(text: str) -> str:
    """Return a text without marks of truncation."""
    return _MARK.sub("", text)


def is_truncated(word: str) -> bool:
    """Whether a word has a mark of truncation."""
    return _MARK.search(word) is not None


def split_truncated(text: str) -> tuple[str, list[str]]:
    """Return a text without its truncated words, and these in lower case; stems of one or two letters are words."""
    if not is_truncated(text):
        return text, []
    return without_marks(_TRUNCATED.sub(" ", text)), [word.lower() for word in _TRUNCATED.findall(text)]


def word_pattern(word: str) -> str:
    """Return the pattern of a lower-case word, with its marks."""
    return re.escape(word).replace(_ANY, r"\w*").replace(_OPTIONAL, r"\w?")


def wildcard(word: str) -> str:
    """Return a truncated word with "*" for its marks, as Lucene reads it."""
    return _MARK.sub("*", word)
