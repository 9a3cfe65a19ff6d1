"""A pool of sentences in which negatives are found by BM25 and by vectors, without likely answers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mpir.core.text.characters import normalise
from mpir.lab.gold_sentences import may_be_gold
from mpir.models.embedding_model import PooledEncoder
from mpir.search.memory import MemoryIndex
from mpir.types import F32

DEPTH = 60
"""The number of nearest sentences to choose from, by BM25 and by vectors each."""


@dataclass(frozen=True)
class SentencePool:
    """S distinct sentences, the ids of the questions or abstracts that own each, and their unit vectors (S, W)."""

    texts: list[str]
    owners: list[set[str]]
    index: MemoryIndex
    vectors: F32

    @classmethod
    def build(cls, owned_texts: Iterable[tuple[str, str]], encoder: PooledEncoder) -> SentencePool:
        """Build the pool from (owner, text) pairs; a text of several owners is in it once."""
        owners: dict[str, set[str]] = {}
        for owner, text in owned_texts:
            owners.setdefault(text, set()).add(owner)
        texts = list(owners)
        return cls(texts, list(owners.values()), MemoryIndex(texts), unit_vectors(encoder, texts))

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The index of each sentence."""
        return {text: number for number, text in enumerate(self.texts)}

    def nearest(self, query: str, query_vector: F32) -> dict[str, list[int]]:
        """Return the indices of the DEPTH sentences nearest to a query, best first, by BM25 and by vectors (W,)."""
        scores = self.index.scores(query)
        return {
            "bm25": [i for i in best_indices(scores) if scores[i] > 0],
            "vector": best_indices(self.vectors @ query_vector),
        }


def best_indices(scores: F32) -> list[int]:
    """Return the indices of the DEPTH highest scores (N,), best first."""
    best = np.argpartition(-scores, min(DEPTH, len(scores) - 1))[:DEPTH]
    return [int(i) for i in best[np.argsort(-scores[best], kind="stable")]]


def unit_vectors(encoder: PooledEncoder, texts: Sequence[str], *, queries: bool = False) -> F32:
    """Return unit vectors (N, W) of texts; a text in several passages has the vector of its first one."""
    if not texts:
        return np.zeros((0, 0), np.float32)
    encode = encoder.query_vectors if queries else encoder.vectors
    vectors, text_of = encode(texts, progress=sys.stderr.isatty())
    first = vectors[np.searchsorted(text_of, np.arange(len(texts)))]
    scaled: F32 = first / np.maximum(np.linalg.norm(first, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return scaled


@dataclass(frozen=True)
class AnswerFilter:
    """Refuses negatives that are likely to answer: `same` is the cosine from which two sentences say the same.

    `gold_texts` are the owner's normalised sentences, `vectors` (G, W) their vectors, and `owners` the ids of the
    owner itself and of all questions that ask nearly the same.
    """

    same: float
    gold_texts: Sequence[str]
    vectors: F32
    owners: frozenset[str]

    @classmethod
    def of(cls, same: float, texts: Sequence[str], pool: SentencePool, owners: frozenset[str]) -> AnswerFilter:
        """Make the filter of an owner with these sentences, which are in the pool."""
        rows = [pool.number_of[text] for text in texts]
        return cls(same, [normalise(text) for text in texts], pool.vectors[rows], owners)

    def allows(self, number: int, pool: SentencePool) -> bool:
        """Whether a sentence of the pool is on another topic."""
        return not pool.owners[number] & self.owners and self.differs(pool.texts[number], pool.vectors[number])

    def differs(self, text: str, vector: F32) -> bool:
        """Whether a text with the given vector (W,) says something else than the owner's sentences."""
        if may_be_gold(text, self.gold_texts):
            return False
        return not len(self.vectors) or float((self.vectors @ vector).max()) < self.same
