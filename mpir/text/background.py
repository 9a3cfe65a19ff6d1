"""How rare words are in PubMed: document frequencies for ranking a few texts whose collection is not at hand."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from mpir.text.terms import terms

SHIPPED = "pubmed.tsv.gz"
HEAD = "# documents"


@dataclass(frozen=True)
class Background:
    """In how many of `documents` documents a term occurs; one that is not in `frequencies` counts as in one.

    Among a few candidates that all match a query, their own frequencies say that its words are common, and that a word
    which happens to be missing in most of them is the rare one.
    """

    documents: int
    frequencies: Mapping[str, int]

    def idf(self, words: Sequence[str]) -> NDArray[np.float64]:
        """The inverse document frequency (W,) of terms, by Lucene's formula."""
        frequencies = np.array([self.frequencies.get(word, 1) for word in words], np.float64)
        return np.log1p((self.documents - frequencies + 0.5) / (frequencies + 0.5))

    def to_tsv(self) -> bytes:
        """Compressed lines of term and frequency; the first has the number of documents. `from_tsv` reads them."""
        lines = [f"{HEAD}\t{self.documents}", *(f"{word}\t{n}" for word, n in sorted(self.frequencies.items()))]
        return gzip.compress("\n".join(lines).encode(), mtime=0)

    @classmethod
    def from_tsv(cls, content: bytes) -> Background:
        """What `to_tsv` wrote."""
        (_, documents), *rows = (line.split("\t") for line in gzip.decompress(content).decode().splitlines())
        return cls(int(documents), {word: int(count) for word, count in rows})

    @classmethod
    def of(cls, texts: Iterable[str], minimum: int = 1) -> Background:
        """The frequencies in texts, without terms that fewer than `minimum` of them have."""
        count, frequencies = 0, dict[str, int]()
        for text in texts:
            count += 1
            for word in set(terms(text, stop_words="none")):
                frequencies[word] = frequencies.get(word, 0) + 1
        return cls(count, {word: n for word, n in frequencies.items() if n >= minimum})


@cache
def pubmed() -> Background:
    """The shipped frequencies, of PubMed abstracts (data_scripts/document_frequencies.py)."""
    return Background.from_tsv((files("mpir.text") / SHIPPED).read_bytes())
