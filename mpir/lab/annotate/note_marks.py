"""Marks of notes that decide as triggers do: an answer behind a colon, a sign in brackets, the end of a clause.

Fever: none. Cough (-), rash (+); chills
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mpir.core.text.phrases import Span

_CLAUSE_END = re.compile(r";|\(\s*\+\s*\)")
_FIELD_END = re.compile(r"[.,|:)](?=\s)|\s{2}")
_SIGN = re.compile(r"(?<=\w)\s?+((?:\(\s?[-−–](?:ve)?\s?\)|\[\s?[-−–]\s?\])(?![-\w])|[-−–]ve\b(?!\s++(?:for|of)\b))")
_BEGINNINGS = tuple(f"{start}{sign}" for sign in "-−–" for start in ("(", "( ", "[", "[ ", " "))
_OPENING = re.compile(r"(?:[:=?]|\s[-–—]|[(\[])\s*+\Z")
_CLOSING = re.compile(r"\s{2}|\s*+(?:[.,;|/)\]]|\Z|(?=[A-Z][\w-]*+(?: [\w-]++){0,3}:))")
_NEAR, _FIELD = 8, 80


def clause_ends(text: str, answers: Sequence[Span]) -> list[Span]:
    """Return where a clause ends: semicolons, "(+)", which affirms, and the beginning of what each answer answers."""
    ends = [match.span() for match in _CLAUSE_END.finditer(text)] if ";" in text or "+" in text else []
    for begin, _ in answers:
        opening = _OPENING.search(text, max(0, begin - _NEAR), begin)
        before = list(_FIELD_END.finditer(text, max(0, begin - _FIELD), opening.start())) if opening else []
        ends += [match.span() for match in before[-1:]]
    return ends


def signs(text: str) -> Iterator[Span]:
    """Yield the signs that negate the word before them: "fever (-)", "HBsAg -ve"."""
    if "-" not in text and text.isascii():  # most sentences
        return
    for match in _SIGN.finditer(text) if any(mark in text for mark in _BEGINNINGS) else ():
        yield match.span(1)


def is_answer(text: str, trigger: Span) -> bool:
    """Whether a trigger is the whole answer to what stands before it: "fever: none", "fever (no)", "fever - absent"."""
    begin, end = trigger
    return bool(_OPENING.search(text, max(0, begin - _NEAR), begin) and _CLOSING.match(text, end))
