"""The terms of BM25: words without stop words and plurals, truncated words, and how often PubMed has each term."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, get_args

from mpir.core.text.characters import composed, greek_names, without_accents
from mpir.validation import check_choice

if TYPE_CHECKING:
    from mpir.types import F64

StopWords = Literal["english", "not-no", "none"]
NEGATING = frozenset({"no", "not"})
_WORD = re.compile(r"\w+")


def terms(text: str, *, stop_words: StopWords = "english") -> list[str]:
    """Return a text's words for BM25, without stop words and accents; "α" and TeX's "\\alpha" are the word "alpha".

    Stop words are Lucene's 33 English ones (``english``); the same without "no" and "not" (``not-no``), where "no
    effusion" must differ from "effusion"; or ``none``.

    Raises:
        InputError: the name is unknown.
    """
    left_out = stop_words_of(stop_words)
    folded = greek_names(without_accents(composed(text).lower()))
    return [_singular(word) for word in _WORD.findall(folded) if word not in left_out]


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


_ANY, _OPTIONAL = "\ue004", "\ue005"
"""Marks of truncation in place of a service's own: any letters, and at most one."""
_MARKS = f"[{_ANY}{_OPTIONAL}]"
_MARK = re.compile(_MARKS)
_ANY_MARK = re.compile(r"(?<=\w)[*$]\d?(?![\w:])|(?<![\w)])\*(?=[^\W\d])|(?<=[^\W\d])[*$](?=[^\W\d])")
_OPTIONAL_MARK = re.compile(r"(?<=\w)[?#](?:\d?(?!\w)|(?=\w))")
_MARKED = rf"[\w{_ANY}{_OPTIONAL}]"
_TRUNCATED = re.compile(rf"(?<!{_MARKED})(?=\w*+{_MARKS})(?={_MARKS}*+(?:\w{_MARKS}*+){{3}}){_MARKED}++")


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


SHIPPED = "pubmed.tsv.gz"
HEAD = "# documents"


@dataclass(frozen=True)
class Background:
    """The number of documents, of `documents` in all, in which each term occurs; an unlisted term counts as 1.

    Frequencies from a few candidates that all match a query mislead: the query's words look common, and a word that
    most candidates happen to lack looks rare.
    """

    documents: int
    frequencies: Mapping[str, int]

    def idf(self, words: Sequence[str]) -> F64:
        """Return the inverse document frequency (W,) of terms, by Lucene's formula."""
        import numpy as np  # here, because readers of files take terms from this module, too

        frequencies = np.array([self.frequencies.get(word, 1) for word in words], np.float64)
        return np.log1p((self.documents - frequencies + 0.5) / (frequencies + 0.5))

    def to_tsv(self) -> bytes:
        """Compressed lines of term and frequency; the first has the number of documents. `from_tsv` reads them."""
        lines = [f"{HEAD}\t{self.documents}", *(f"{word}\t{n}" for word, n in sorted(self.frequencies.items()))]
        return gzip.compress("\n".join(lines).encode(), mtime=0)

    @classmethod
    def from_tsv(cls, content: bytes) -> Background:
        """Read the output of `to_tsv`."""
        (_, documents), *rows = (line.split("\t") for line in gzip.decompress(content).decode().splitlines())
        return cls(int(documents), {word: int(count) for word, count in rows})

    @classmethod
    def of(cls, texts: Iterable[str], minimum: int = 1) -> Background:
        """Count document frequencies in texts, without terms that occur in fewer than `minimum` of them."""
        count, frequencies = 0, dict[str, int]()
        for text in texts:
            count += 1
            for word in set(terms(text, stop_words="none")):
                frequencies[word] = frequencies.get(word, 0) + 1
        return cls(count, {word: n for word, n in frequencies.items() if n >= minimum})


@cache
def pubmed_background() -> Background:
    """Return the shipped frequencies from PubMed abstracts (made by data_scripts/document_frequencies.py)."""
    background = Background.from_tsv((files("mpir.core.text") / SHIPPED).read_bytes())
    frequencies = dict(background.frequencies)
    for word, count in background.frequencies.items():
        if not word.isascii() and (plain := without_accents(word)) != word:  # counted before accents were left out
            frequencies[plain] = frequencies.get(plain, 0) + count
    return Background(background.documents, frequencies)
