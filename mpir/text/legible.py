"""A text as models and BM25 read it: its words, without what print and markup put between their letters."""

from __future__ import annotations

import re

from mpir.text.background import pubmed
from mpir.text.markup import without_markup
from mpir.text.normalise import LIGATURES, composed, without_surrogates
from mpir.text.terms import terms

_PRINTED = str.maketrans({**LIGATURES, **dict.fromkeys("\u200b\u2060\ufeff", "")})  # the latter have no width
_ANY_PRINTED = re.compile("[ﬀ-ﬆ\u200b\u2060\ufeff]")
_SOFT_HYPHEN = re.compile(r"\u00ad(?:[^\S\n]*+\n\s*+)?")
_BROKEN = re.compile(r"(?<![^\W\d_])([^\W\d_]{2,}+)[-‐][^\S\n]*+\n\s*+([^\W\d_]++)")


def legible(text: str) -> str:
    """The text with whole words and without tags: "effec-⏎tive" is effective, "ﬁrst" first.

    Texts from PDF files and web pages are full of them, and neither encoders nor BM25 would know the words. Letters
    with accents are one code point each (NFC), so that equal words are equal. Most texts come back as they are. Offsets
    point into the given text, so that is what is shown. U+FFFD replaces half a surrogate pair.
    """
    text = without_markup(text)
    if not text.isascii():
        text = without_surrogates(text)
        if _ANY_PRINTED.search(text):
            text = text.translate(_PRINTED)
        text = composed(_SOFT_HYPHEN.sub("", text))
    return _BROKEN.sub(_joined, text) if "\n" in text else text


def _joined(match: re.Match[str]) -> str:
    """Both halves as one word, but where the second is a word and more frequent in PubMed's abstracts than the whole.

    The first has to be, too, if the whole is a word at all: "Paraceta-mol" is one, though "mol" is the more frequent.
    """
    first, second = match.groups()
    known = pubmed().frequencies
    folded = terms(f"{first}{second} {first} {second}", stop_words="none")
    joined_count, *halves = (known.get(word, 0) for word in folded)
    compound = halves[1] > joined_count and (halves[0] > joined_count or not joined_count)
    return match.group() if compound or second[0].isupper() else first + second
