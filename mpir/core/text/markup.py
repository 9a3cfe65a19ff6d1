"""Tags and entities in texts from web pages, Europe PMC and publishers: HTML and JATS fragments."""

from __future__ import annotations

import re
from html import unescape

_ATTRIBUTES = r"""(?:\s++[\w:-]++\s*+=\s*+(?:"[^"<>]*+"|'[^'<>]*+'))*+\s*+/?>"""
_PARAGRAPHS = r"p|div|h[1-6]|sec|title|abstracttext"
_OTHER_BLOCKS = r"ul|ol|li|dl|dt|dd|table|tr|t[dh]|abstract"
_INLINE = r"i|b|u|em|strong|su[bp]|inf|small|span|a|sc|italic|bold|xref"
_ANY = rf"(?:jats:)?(?:br|hr|{_PARAGRAPHS}|{_OTHER_BLOCKS}|{_INLINE})"
# Patterns for the rules of `split`, case-insensitive. The "<" in "p < 0.05" or "a<b and c>d" does not begin a tag.
PARAGRAPH = rf"(?i:<(?:jats:)?(?:{_PARAGRAPHS}){_ATTRIBUTES})"
BLOCK = rf"(?i:<(?:jats:)?(?:{_PARAGRAPHS}|{_OTHER_BLOCKS}|b|strong|bold){_ATTRIBUTES})"
OPENING = rf"(?i:<{_ANY}{_ATTRIBUTES})"
CLOSING = rf"(?i:</{_ANY}\s*+>|<br\s*+/?>)"
_TAG = re.compile(rf"{OPENING}|{CLOSING}")
_INLINE_TAG = re.compile(rf"(?i:</?(?:jats:)?(?:{_INLINE}){_ATTRIBUTES})")
_BLOCK_TAG = re.compile(rf"(?i:</?(?:jats:)?(?:br|hr|{_PARAGRAPHS}|{_OTHER_BLOCKS}){_ATTRIBUTES})")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z]\w{1,30});")


def has_tags(text: str) -> bool:
    """Whether the text has a tag that this module knows."""
    return "<" in text and _TAG.search(text) is not None


def without_markup(text: str) -> str:
    """Return the text with entities decoded and tags removed; block tags leave a space."""
    if has_tags(text):
        text = _BLOCK_TAG.sub(" ", _INLINE_TAG.sub("", text))
    return _ENTITY.sub(lambda match: unescape(match.group()), text) if "&" in text else text
