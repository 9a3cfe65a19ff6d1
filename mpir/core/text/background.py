"""Document frequencies of words in PubMed, for ranking a few texts whose collection is not available."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from mpir.core.text.terms import terms

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

    def idf(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return the inverse document frequency (W,) of terms, by Lucene's formula."""
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
def pubmed() -> Background:
    """Return the shipped frequencies from PubMed abstracts (made by data_scripts/document_frequencies.py)."""
    return Background.from_tsv((files("mpir.core.text") / SHIPPED).read_bytes())
