"""Prepare a text for models and BM25: whole words, without line-end hyphens, ligatures and markup."""

from __future__ import annotations

import re

from mpir.core.text.background import pubmed
from mpir.core.text.exponents import with_carets
from mpir.core.text.markup import without_markup
from mpir.core.text.normalise import LIGATURES, composed, without_surrogates
from mpir.core.text.terms import terms

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
    known = pubmed().frequencies
    folded = terms(f"{first}{second} {first} {second}", stop_words="none")
    joined_count, *halves = (known.get(word, 0) for word in folded)
    compound = halves[1] > joined_count and (halves[0] > joined_count or not joined_count)
    return match.group() if compound or second[0].isupper() else first + second
