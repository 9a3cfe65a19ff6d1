"""The marks with which publishers and databases tell in a title that the paper was retracted.

A withdrawn paper or version is another thing (Cochrane withdraws reviews that are out of date), and so is the notice of
a retraction ("Retraction note to: …", "… (Retraction of vol 5, pg 1, 2015)").
"""

from __future__ import annotations

import re

_PAPER = r"(?:article|paper|publication|manuscript|chapter|study|review|title)"
_BEFORE = re.compile(
    rf"\W*(?:RETRACTED(?: {_PAPER.upper()})?|Retracted(?: (?i:{_PAPER}))?|(?i:retractad[oa]|retirad[oa]|zurückgezogen)"
    r"|撤稿|撤回)\s*(?:[:\]】)*]+|\s[-–—]+\s)[\s:.–—-]*"
)
_BEHIND = re.compile(
    rf"\s*(?:[(\[【{{]\s*\W*retracted(?: {_PAPER})?(?:\s*[.,;:]\s*[^()\[\]]*|\s+(?:in|see|by|on|due)\b[^()\[\]]*)?"
    rf"(?:\([^()]*\)[^()\[\]]*)?[)\]】}}]|[-–—]+\s*RETRACTED(?: {_PAPER.upper()})?)\s*\.?\s*$",
    re.IGNORECASE,
)


_OTHER_HINT = re.compile("zurückgezogen|撤")


def is_retracted_title(title: str) -> bool:
    """Whether a title says that the paper was retracted: "RETRACTED: …", "… (Retracted article. See vol. 33, 2017)"."""
    return _may_have_mark(title) and bool(_BEFORE.match(title) or _BEHIND.search(title))


def without_retraction_mark(title: str) -> str:
    """Return a title without the mark of a retracted paper."""
    if not _may_have_mark(title):
        return title
    before = _BEFORE.match(title)
    return _BEHIND.sub("", title[before.end() :] if before else title)


def _may_have_mark(title: str) -> bool:
    title = title.lower()
    return "retract" in title or "retirad" in title or (not title.isascii() and _OTHER_HINT.search(title) is not None)
