"""Tags and entities in texts from web pages, Europe PMC and publishers: HTML and JATS fragments."""

from __future__ import annotations

import re
from html import unescape

from mpir.core.text.exponents import raised
from mpir.core.text.latex import plain_formula

_ATTRIBUTES = r"""(?:\s++[\w:-]++\s*+=\s*+(?:"[^"<>]*+"|'[^'<>]*+'))*+\s*+/?>"""
_PARAGRAPHS = r"p|div|h[1-6]|sec|title|abstracttext"
_OTHER_BLOCKS = r"ul|ol|li|dl|dt|dd|table|tr|t[dh]|abstract|abstract-text|list|list-item|disp-quote|fig|caption|label"
_MATH = (
    r"math|semantics|m(?:row|i|o|n|text|s|space|su[bp]|subsup|frac|sqrt|root|over|under|underover|style|fenced|padded)"
)
_INLINE = (
    r"i|b|u|em|strong|su[bp]|inf|small|span|a|sc|scp|italic|bold|xref|inline-formula|named-content|styled-content"
    r"|monospace|roman|sans-serif|strike|underline|overline|ext-link|uri|email|tt|it|hi|font|abbrev|bold-italic"
    r"|alternatives|tex-math|disp-formula|inline-graphic|graphic|ext|institution|related-article|chem-struct|private-char"
    rf"|sup-?script|sub-?script|(?:mml:)?(?:{_MATH})"
)
_ANY = rf"(?:jats:)?(?:br|hr|{_PARAGRAPHS}|{_OTHER_BLOCKS}|{_INLINE})"
# Patterns for the rules of `split`, case-insensitive. The "<" in "p < 0.05" or "a<b and c>d" does not begin a tag.
PARAGRAPH = rf"(?i:<(?:jats:)?(?:{_PARAGRAPHS}){_ATTRIBUTES})"
BLOCK = rf"(?i:<(?:jats:)?(?:{_PARAGRAPHS}|{_OTHER_BLOCKS}|b|strong|bold){_ATTRIBUTES})"
OPENING = rf"(?i:<{_ANY}{_ATTRIBUTES})"
CLOSING = rf"(?i:</{_ANY}\s*+>|<br\s*+/?>)"
_TAG = re.compile(rf"{OPENING}|{CLOSING}")
_INLINE_TAG = re.compile(rf"(?i:</?(?:jats:)?(?:{_INLINE}){_ATTRIBUTES})")
_BLOCK_TAG = re.compile(rf"(?i:</?(?:jats:)?(?:br|hr|{_PARAGRAPHS}|{_OTHER_BLOCKS}){_ATTRIBUTES})")
_ESCAPED = 3
"""How often a text may have been escaped."""
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z]\w{1,30});")


_SIGNS = re.compile(r"&(?:minus|plus|ndash|#8722|#x2212|#8211);", re.IGNORECASE)
"""Entities that may stand in an exponent, which is read before other entities."""
_TEX = re.compile(r"(?i:<(?:jats:)?tex-math[^<>]*+>)([^<>]{1,600})(?i:</(?:jats:)?tex-math>)")
_SUP = re.compile(rf"(?i:(?<=\d)<(?:jats:)?sup{_ATTRIBUTES})\s*([-−–+]?\d{{1,4}})\s*(?i:</(?:jats:)?sup>)")
_MSUP = re.compile(
    r"<((?:mml:)?)msup>\s*<\1m[nio]>([^<>]*)</\1m[nio]>\s*<\1m[nio]>\s*([-−–+]?\d{1,4})\s*</\1m[nio]>\s*</\1msup>"
)


def has_tags(text: str) -> bool:
    """Whether the text has a tag that this module knows."""
    return "<" in text and _TAG.search(text) is not None


def without_markup(text: str) -> str:
    """Return the text with entities decoded and tags removed, escaped ones too; block tags leave a space."""
    if "&" in text and "<" in text:
        text = _SIGNS.sub(lambda match: unescape(match.group()), text)
    text = _without_tags(text)
    for _ in range(_ESCAPED if "&" in text else 0):
        decoded = _ENTITY.sub(lambda match: unescape(match.group()), text)
        if decoded == text:
            break
        text = _without_tags(decoded)
    return text


def _without_tags(text: str) -> str:
    if not has_tags(text):
        return text
    if "tex-math" in text:
        text = _TEX.sub(lambda match: plain_formula(match[1]), text)
    if "sup" in text or "SUP" in text:
        text = _MSUP.sub(lambda match: match[2] + raised(match[3]), _SUP.sub(lambda match: raised(match[1]), text))
    return _BLOCK_TAG.sub(" ", _INLINE_TAG.sub("", text))
