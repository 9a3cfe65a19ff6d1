"""Vectors of texts, remembered from the last calls or kept in a cache that runs share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mpir.core.checksum import fingerprint
from mpir.models.perspectives.lru_cache import LruCache
from mpir.models.sentence_encoder import PooledEncoder
from mpir.types import F32

if TYPE_CHECKING:
    from mpir.models.perspectives.cache import ScoreCache

BYTES = 2**26
"""Maximum memory for texts and vectors: about 20,000 abstracts with 384 numbers each."""


class TextVectors:
    """Vectors of texts by an encoder with a pooling; threads may share it.

    Everything that vectors depend on (weights, settings, length, number format, pooling) is part of the cache key, so
    vectors of one number format are never used for another.
    """

    def __init__(self, encoder: PooledEncoder, *, as_queries: bool = False) -> None:
        """Encode texts as documents or as queries, with the encoder's pooling and prompts."""
        self.encoder, self.as_queries = encoder, as_queries
        self._recent: LruCache[F32] = LruCache(_bytes, BYTES)

    def read(self, texts: Sequence[str], cache: ScoreCache | None, *, progress: bool = False) -> list[F32]:
        """Return the vectors (R, W) of each text's passages. Raises the encoder's errors."""
        vectors = self._recent.look_up(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        key = self._key() if cache and missing else ""
        cached = cache.look_up_vectors(key, missing) if cache and missing else {}
        fresh = self._encode([text for text in missing if text not in cached], progress)
        if cache and fresh:
            cache.keep_vectors(key, fresh)
        self._recent.store(cached | fresh)
        vectors |= cached | fresh
        return [vectors[text] for text in texts]

    def _key(self) -> str:
        return fingerprint({**self.encoder.identity, **({"side": "query"} if self.as_queries else {})})

    def _encode(self, texts: Sequence[str], progress: bool) -> dict[str, F32]:
        if not texts:
            return {}
        encode = self.encoder.query_vectors if self.as_queries else self.encoder.vectors
        vectors, text_of = encode(texts, progress=progress)
        passages = np.split(vectors, np.flatnonzero(np.diff(text_of)) + 1)
        return {
            text: rows.copy() for text, rows in zip(texts, passages, strict=True)
        }  # a view would keep the whole array in memory

    def clear(self) -> None:
        """Drop the vectors in memory."""
        self._recent.clear()


def _bytes(text: str, vectors: F32) -> int:
    return len(text) + vectors.nbytes
