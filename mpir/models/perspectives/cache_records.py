"""Rows of the cache's database: a key, and a pair's score, a text's vectors or a document's outputs with a checksum."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b

import numpy as np

from mpir.core.text.types import Pair, QueryDocument
from mpir.types import F32
from mpir.version import __version__

FORMAT = 1
SCORE = struct.Struct("<d?I")
"""A score: the value, whether the pair was read in passages, and a checksum of both and the key."""
VECTORS = struct.Struct("<II")
"""The header of a text's vectors: the number of passages, and a checksum of it, the key and the vectors."""
NUMBER = np.dtype("<f4")


class DamagedError(Exception):
    """A record was changed since it was written."""


def score_keys(fingerprint: str, pairs: Iterable[Pair]) -> Iterator[bytes]:
    """Yield a key of 16 bytes for each pair; the query's digest comes first, so that its rows are adjacent."""
    start = blake2b(f"{FORMAT} {__version__} {fingerprint}\n".encode(), digest_size=12)
    for query, sentence in pairs:
        query_bytes = query.encode(errors="surrogatepass")
        digest = start.copy()
        digest.update(b"%d " % len(query_bytes) + query_bytes + sentence.encode(errors="surrogatepass"))
        yield blake2b(query_bytes, digest_size=4).digest() + digest.digest()


def vector_keys(fingerprint: str, texts: Sequence[str]) -> list[bytes]:
    """Return a key of 20 bytes for each text, in contrast to 16 bytes for scores."""
    start = blake2b(f"{FORMAT} {__version__} vectors {fingerprint}\n".encode(), digest_size=20)
    digests = [start.copy() for _ in texts]
    for digest, text in zip(digests, texts, strict=True):
        digest.update(text.encode(errors="surrogatepass"))
    return [digest.digest() for digest in digests]


def document_keys(fingerprint: str, documents: Sequence[QueryDocument]) -> list[bytes]:
    """Return a key of 24 bytes for each query and document, of which the sentences count."""
    start = blake2b(f"{FORMAT} {__version__} documents {fingerprint}\n".encode(), digest_size=24)
    digests = [start.copy() for _ in documents]
    for digest, document in zip(digests, documents, strict=True):
        for text in (document.query, *document.sentences):
            text_bytes = text.encode(errors="surrogatepass")
            digest.update(b"%d " % len(text_bytes) + text_bytes)
    return [digest.digest() for digest in digests]


def pack_score(key: bytes, value: float, in_passages: bool) -> bytes:
    """Return the record of a score."""
    checksum = zlib.crc32(key + SCORE.pack(value, in_passages, 0))
    return SCORE.pack(value, in_passages, checksum)


def unpack_score(key: bytes, record: object) -> tuple[float, bool]:
    """Return the score of a record, and whether the pair was read in passages. Raises DamagedError."""
    if isinstance(record, bytes) and len(record) == SCORE.size:
        value, in_passages, _ = SCORE.unpack(record)
        if pack_score(key, value, in_passages) == record:
            return value, in_passages
    raise DamagedError("a score fails its checksum")


def pack_vectors(key: bytes, vectors: F32) -> bytes:
    """Return the record of the vectors (R, W) of a text's passages, in single precision."""
    numbers, passages = vectors.astype(NUMBER).tobytes(), len(vectors)
    return VECTORS.pack(passages, zlib.crc32(key + VECTORS.pack(passages, 0) + numbers)) + numbers


def unpack_vectors(key: bytes, record: object) -> F32:
    """Return the vectors (R, W) of a record. Raises DamagedError."""
    if isinstance(record, bytes) and len(record) > VECTORS.size:
        passages, _ = VECTORS.unpack_from(record)
        numbers = np.frombuffer(record, NUMBER, offset=VECTORS.size) if (len(record) - VECTORS.size) % 4 == 0 else None
        if numbers is not None and passages and len(numbers) % passages == 0:
            vectors = numbers.astype(np.float32).reshape(passages, -1)
            if pack_vectors(key, vectors) == record:
                return vectors
    raise DamagedError("a vector fails its checksum")
