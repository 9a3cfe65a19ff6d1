"""Prepare a text for models and BM25: whole words, without line-end hyphens, ligatures, tags and entities.

Tags and entities come from web pages, Europe PMC and publishers: HTML and JATS fragments.
"""

from __future__ import annotations

import re
from html import unescape

from mpir.core.text.characters import LIGATURES, composed, raised, with_carets, without_surrogates
from mpir.core.text.latex import plain_formula
from mpir.core.text.terms import pubmed_background, terms

_PRINTED = str.maketrans({**LIGATURES, **dict.fromkeys("\u200b\u2060\ufeff", "")})  # zero-width characters
_ANY_PRINTED = re.compile("[ﬀ-ﬆ\u200b\u2060\ufeff]")
_SOFT_HYPHEN = re.compile(r"\u00ad(?:[^\S\n]*+\n\s*+)?")
_BROKEN = re.compile(r"(?<![^\W\d_])([^\W\d_]{2,}+)[-‐][^\S\n]*+\n\s*+([^\W\d_]++)")


def legible(text: str) -> str:
    """Return the text with whole words and without tags: "effec-⏎tive" becomes "effective", "ﬁrst" becomes "first".

    Texts from PDF files and web pages often need this, because neither encoders nor BM25 would recognise the words.
    Accented letters become one code point each (NFC), so that equal words compare equal. U+FFFD replaces an unpaired
    surrogate. Most texts are returned unchanged. Offsets still point into the original text, which is what users see.
    """
    text = without_markup(text)
    if not text.isascii():
        text = without_surrogates(text)
        if _ANY_PRINTED.search(text):
            text = text.translate(_PRINTED)
        text = with_carets(composed(_SOFT_HYPHEN.sub("", text)))
    return _BROKEN.sub(_joined, text) if "\n" in text else text


def _joined(match: re.Match[str]) -> str:
    """Join both halves, unless the second half is a word more frequent in PubMed's abstracts than the whole.

    If the whole is a word at all, the first half must be more frequent, too: "Paraceta-mol" is joined although "mol" is
    more frequent than the whole.
    """
    first, second = match.groups()
    known = pubmed_background().frequencies
    folded = terms(f"{first}{second} {first} {second}", stop_words="none")
    joined_count, *halves = (known.get(word, 0) for word in folded)
    compound = halves[1] > joined_count and (halves[0] > joined_count or not joined_count)
    return match.group() if compound or second[0].isupper() else first + second


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
