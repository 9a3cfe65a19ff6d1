"""The words of a text as BM25 counts them: lower case, without stop words, plurals folded."""

from __future__ import annotations

import re
from functools import cache, lru_cache

_WORD = re.compile(r"\w+")


def terms(text: str) -> list[str]:
    """A text's words as BM25 counts them."""
    stop_words = _stop_words()
    return [_singular(word) for word in _WORD.findall(text.lower()) if word not in stop_words]


@cache
def _stop_words() -> frozenset[str]:
    """Lucene's 33 English stop words."""
    from bm25s.stopwords import STOPWORDS_EN

    return frozenset(STOPWORDS_EN)


@lru_cache(maxsize=2**16)
def _singular(word: str) -> str:
    """The S stemmer (Harman, "How effective is suffixing?", 1991): the first rule whose ending fits decides."""
    if len(word) < 3:  # the "s" of "Alzheimer's" would leave nothing
        return word
    if word.endswith("ies"):
        return word if word.endswith(("eies", "aies")) else word[:-3] + "y"
    if word.endswith("es"):
        return word if word.endswith(("aes", "ees", "oes")) else word[:-1]
    if word.endswith("s"):
        return word if word.endswith(("us", "ss")) else word[:-1]
    return word
