"""Tokenise a text for BM25: lower case, without stop words, plurals folded, Greek letters by name."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal, get_args

from mpir.core.text.greek import greek_names
from mpir.core.text.normalise import composed
from mpir.validation import check_choice

StopWords = Literal["english", "not-no", "none"]
NEGATING = frozenset({"no", "not"})
_WORD = re.compile(r"\w+")


def terms(text: str, *, stop_words: StopWords = "english") -> list[str]:
    """Return a text's words for BM25, without stop words; "α" and TeX's "\\alpha" are the word "alpha".

    Stop words are Lucene's 33 English ones (``english``); the same without "no" and "not" (``not-no``), where "no
    effusion" must differ from "effusion"; or ``none``.

    Raises:
        InputError: the name is unknown.
    """
    left_out = stop_words_of(stop_words)
    return [_singular(word) for word in _WORD.findall(greek_names(composed(text).lower())) if word not in left_out]


@cache
def stop_words_of(name: StopWords) -> frozenset[str]:
    """Return the stop words with this name. Raises InputError for an unknown name."""
    from bm25s.stopwords import STOPWORDS_EN

    check_choice("stop_words", name, get_args(StopWords))
    words = frozenset(STOPWORDS_EN)
    return {"english": words, "not-no": words - NEGATING, "none": frozenset[str]()}[name]


@lru_cache(maxsize=2**16)
def _singular(word: str) -> str:
    """Stem a word by the first matching rule of the S stemmer (Harman, "How effective is suffixing?", 1991)."""
    if len(word) < 3:  # the "s" of "Alzheimer's" would leave nothing
        return word
    if word.endswith("ies"):
        return word if word.endswith(("eies", "aies")) else word[:-3] + "y"
    if word.endswith("es"):
        return word if word.endswith(("aes", "ees", "oes")) else word[:-1]
    if word.endswith("s"):
        return word if word.endswith(("us", "ss")) else word[:-1]
    return word
