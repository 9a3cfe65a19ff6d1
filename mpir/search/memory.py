"""BM25 in memory over texts of the caller, without Java and without an index on disk; settings of BM25 and RM3."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.text.characters import composed, greek_names, without_accents
from mpir.core.text.legible import legible
from mpir.core.text.query import truncated_query
from mpir.core.text.terms import Background, StopWords, split_truncated, terms, without_marks, word_pattern
from mpir.validation import real_number, whole_number

DEFAULT_K1 = 0.6
DEFAULT_B = 0.4
"""BM25's parameters by default, chosen on questions (docs/evidence/first-stage.md)."""
AVERAGE_LENGTH = 165
"""The mean number of terms of the 26,577 records of the data folder, for scores without a collection."""
HIGHEST_K1 = 1000
"""Beyond this k1, scores grow linearly with term frequency in Lucene's 32-bit arithmetic."""
MAX_RM3 = 1000
"""Maximum number of documents and of terms for feedback."""


def check_parameters(k1: float, b: float) -> None:
    """Raise InputError unless 0 ≤ k1 ≤ 1000 and 0 ≤ b ≤ 1."""
    real_number(
        "k1", k1, f"a number from 0 to {HIGHEST_K1}, such as {DEFAULT_K1}", lambda value: 0 <= value <= HIGHEST_K1
    )
    real_number("b", b, f"a number from 0 to 1, such as {DEFAULT_B}", lambda value: 0 <= value <= 1)


class TermWeights(NamedTuple):
    """The M (text, term) pairs of texts: the numbers of text and term, and the weight."""

    text: NDArray[np.int64]
    term: NDArray[np.int64]
    weight: NDArray[np.float64]


def bm25_scores(
    query: str,
    texts: Sequence[str],
    *,
    k1: float = DEFAULT_K1,
    b: float = DEFAULT_B,
    stop_words: StopWords = "english",
) -> NDArray[np.float32]:
    """Return each text's score (N,) for one query, 0 if they share no term. See `MemoryIndex`."""
    return MemoryIndex(texts, k1=k1, b=b, stop_words=stop_words).scores(query)


def background_scores(query: str, texts: Sequence[str], background: Background) -> NDArray[np.float64]:
    """Return each text's BM25 score (N,), computed from the query and that text alone.

    Document frequencies come from a `background`, and the average length is `AVERAGE_LENGTH`, so that a score does not
    depend on the other texts and may be compared between lists.
    """
    query_terms = set(terms(legible(query)))
    scores = np.zeros(len(texts))
    for number, text in enumerate(texts):
        words = _terms(text, "english")
        counts = Counter(word for word in words if word in query_terms)
        if counts:
            frequencies = np.array(list(counts.values()), np.float64)
            length = DEFAULT_K1 * (1 - DEFAULT_B + DEFAULT_B * len(words) / AVERAGE_LENGTH)
            scores[number] = (background.idf(list(counts)) * frequencies / (frequencies + length)).sum()
    return scores


class MemoryIndex:
    """BM25 (Lucene's formula, through bm25s) over texts in memory, for many queries.

    Terms are lower-cased words of the legible text (see `mpir.core.text.legible`) without stop words
    (`mpir.core.text.terms`), with plurals folded. Document frequencies come from these texts or, if they are part of a
    collection, from a `background`; the average length always comes from these texts.
    """

    def __init__(
        self,
        texts: Sequence[str],
        *,
        k1: float = DEFAULT_K1,
        b: float = DEFAULT_B,
        stop_words: StopWords = "english",
        background: Background | None = None,
    ) -> None:
        """Index N texts. Raises InputError if k1 or b is out of bounds, or the stop words are unknown."""
        check_parameters(k1, b)
        self._size, self._stop_words, self._background = len(texts), stop_words, background
        corpus = [_terms(text, stop_words) for text in texts]
        self._bm25 = None
        if any(corpus):
            from bm25s import BM25

            # bm25s sets its own logger to DEBUG at import, which any program that configures logging would then show.
            logging.getLogger("bm25s").setLevel(logging.WARNING)
            self._bm25 = BM25(k1=k1, b=b, method="lucene")
            numbered, numbers = _numbered(corpus)
            words = list(numbers)  # bm25s adds a term
            self._bm25.index((numbered, numbers), show_progress=False)
            if background is not None:
                _weigh_by(self._bm25.scores, background.idf(words), len(texts))

    def __len__(self) -> int:
        return self._size

    def scores(self, query: str) -> NDArray[np.float32]:
        """Return each text's score (N,) for the query, in the order of the texts; 0 if they share no term."""
        text, truncated = split_truncated(truncated_query(query))
        words = terms(legible(text), stop_words=self._stop_words)
        scores = np.zeros(self._size, dtype=np.float32)
        if self._bm25 is not None and words:
            scores = self._bm25.get_scores(words)
        for word in truncated if self._bm25 is not None else ():
            self._add_forms(word, scores)
        return scores

    def _add_forms(self, word: str, scores: NDArray[np.float32]) -> None:
        """Add the weights of all words that a truncated one stands for to the scores (N,)."""
        assert self._bm25 is not None
        stem = terms(without_marks(word), stop_words="none")
        pattern = re.compile(
            "|".join([word_pattern(greek_names(without_accents(composed(word)))), *map(re.escape, stem)])
        )
        forms = [form for form in self._bm25.vocab_dict if form and pattern.fullmatch(form)]
        sparse = self._bm25.scores
        numbers = [self._bm25.vocab_dict[form] for form in forms]
        idf = self._idf(forms, np.diff(sparse["indptr"])[numbers])
        for number, rarity in zip(numbers, idf, strict=True):
            begin, end = sparse["indptr"][number : number + 2]
            scores[sparse["indices"][begin:end]] += sparse["data"][begin:end] * np.float32(idf.min() / rarity)

    def _idf(self, words: Sequence[str], document_counts: NDArray[np.int64]) -> NDArray[np.float64]:
        if self._background is not None:
            return self._background.idf(words)
        return np.log1p((self._size - document_counts + 0.5) / (document_counts + 0.5))

    def weights(self) -> TermWeights:
        """Return the contribution of each term to each text's score, scaled so that a text's squares sum to 1."""
        if self._bm25 is None:
            empty = np.zeros(0, np.int64)
            return TermWeights(empty, empty, np.zeros(0))
        sparse = self._bm25.scores  # bm25s' own table, by term
        text, weight = sparse["indices"].astype(np.int64), sparse["data"].astype(np.float64)
        term = np.repeat(np.arange(len(sparse["indptr"]) - 1), np.diff(sparse["indptr"]))
        length = np.sqrt(np.bincount(text, weight**2, minlength=self._size))
        return TermWeights(text, term, weight / length[text])


def _terms(text: str, stop_words: StopWords) -> list[str]:
    raise_if_cancelled()
    return terms(legible(text), stop_words=stop_words)


def _weigh_by(sparse: dict[str, Any], idf: NDArray[np.float64], texts: int) -> None:
    """Replace the inverse document frequencies (terms,) in bm25s' table."""
    document_counts = np.diff(sparse["indptr"])
    local_idf = np.log1p((texts - document_counts + 0.5) / (document_counts + 0.5))
    sparse["data"] = (sparse["data"] * np.repeat(idf / local_idf, document_counts)).astype(sparse["data"].dtype)


def _numbered(corpus: Sequence[Sequence[str]]) -> tuple[list[list[int]], dict[str, int]]:
    """Return the terms of texts as numbers, and the number of each term by first occurrence.

    bm25s would number them in the order of a set, which differs between processes, and so would rounding of sums.
    """
    numbers: dict[str, int] = {}
    return [[numbers.setdefault(term, len(numbers)) for term in text] for text in corpus], numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Rm3:
    """RM3 (Abdul-Jaleel et al. 2004), as Anserini computes it.

    The query is expanded by the `terms` most probable words of its `documents` best documents and searched again;
    `weight` is the query's own share of the words' weights. The defaults come from dev questions
    (docs/evidence/first-stage.md).

    Raises:
        InputError: documents or terms are not whole numbers from 1 to 1,000, or the weight is outside 0 to 1.
    """

    documents: int = 5
    terms: int = 20
    weight: float = 0.8

    def __post_init__(self) -> None:
        for name in ("documents", "terms"):
            whole_number(f"rm3: {name}", getattr(self, name), maximum=MAX_RM3)
        real_number("rm3: weight", self.weight, "a number from 0 to 1", lambda value: 0 <= value <= 1)
