"""The bi-encoder: a transformer encodes each text separately, and the similarity of two texts is that of their vectors.

A text's vector is the mean of its tokens' last states (Reimers & Gurevych, "Sentence-BERT", 2019). Bi-encoder and
cross-encoder can share one `Encoder` with one set of weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mpir.core.calibration import COSINE, LOGIT, TOPS
from mpir.core.checksum import fingerprint
from mpir.core.text.types import Pair
from mpir.errors import InputError, format_names, format_value
from mpir.models.checkpoint_files.model_files import MODULES, ModelFiles, read_model_files
from mpir.models.embedding_model import PooledEncoder
from mpir.models.encoder import Encoder
from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.cross_encoder import checkpoint_folder, shared_encoder
from mpir.models.perspectives.lru_cache import LruCache
from mpir.models.perspectives.registration import Loading, register
from mpir.models.vectors.embedding_settings import OPTIONS, read_embedding_settings
from mpir.types import F32, F64, I64, Bool
from mpir.validation import check_choice

if TYPE_CHECKING:
    from mpir.models.perspectives.cache import ScoreCache

SCALES = (COSINE, LOGIT, *TOPS)
OPENING = ("checkpoint", "revision", "trust_remote_code", "over_length")
"""Keys of an entry that determine its encoder."""
PAIRS_PER_PASS = 16_384
"""Pairs per pass, so that memory does not grow with the number of pairs."""


class BiEncoderPerspective(Perspective):
    """A bi-encoder's similarity of question and text, on a fixed scale."""

    def __init__(
        self,
        name: str,
        encoder: Encoder | PooledEncoder,
        *,
        scale: str = "0-5",
    ) -> None:
        """Compare vectors by their ``cosine``, or mapped to a scale such as 0-5, with 0 for negative ones.

        Vectors are those of a `PooledEncoder`, or by default unit vectors of the mean states; the ``dot`` product is
        unbounded, and has the scale ``logit``.

        Raises:
            InputError: an unknown scale, or one that does not fit the similarity.
        """
        self.texts = encoder = encoder if isinstance(encoder, PooledEncoder) else PooledEncoder(encoder)
        self.encoder, self.pooling = self.texts.encoder, self.texts.pooling
        check_choice(f"perspective {format_value(name)}: scale", scale, SCALES)
        similarity = self.pooling.similarity
        if (similarity == "dot") != (scale == LOGIT):
            raise InputError(
                f"perspective {format_value(name)}: invalid scale (got {format_value(scale)}, expected "
                f"{format_names([LOGIT] if similarity == 'dot' else [COSINE, *TOPS])} for the similarity "
                f"{format_value(similarity)} of its vectors)."
            )
        self.name, self.scale = name, scale
        self._vectors = TextVectors(encoder)
        self._query_vectors = self._vectors if encoder.is_symmetric else TextVectors(encoder, as_queries=True)

    def score_pairs(
        self, pairs: Sequence[Pair], *, cache: ScoreCache | None = None, progress: bool = False
    ) -> tuple[F64, Bool]:
        """Return scores (N,) of pairs, and flags (N,) of those read in passages.

        Each distinct text is encoded once, or has its vectors from the cache, which new vectors are added to.
        """
        batches = [
            self._cosines(pairs[start : start + PAIRS_PER_PASS], cache, progress)
            for start in range(0, len(pairs), PAIRS_PER_PASS)
        ]
        cosines, in_passages = (
            (np.concatenate(arrays) for arrays in zip(*batches, strict=True)) if batches else ([], [])
        )
        values = np.asarray(cosines, np.float64)
        if self.scale in TOPS:
            values = TOPS[self.scale] * values.clip(0.0, 1.0)
        return values, np.asarray(in_passages, bool)

    def _cosines(self, pairs: Sequence[Pair], cache: ScoreCache | None, progress: bool) -> tuple[F32, Bool]:
        """Return cosines (N,), the highest over a text's passages, and flags (N,) of texts in several passages."""
        queries, texts = ([pair[side] for pair in pairs] for side in (0, 1))
        if self.texts.is_symmetric:
            left = right = _Table(self._vectors, [text for pair in pairs for text in pair], cache, progress)
        else:
            left = _Table(self._query_vectors, queries, cache, progress)
            right = _Table(self._vectors, texts, cache, progress)
        left_rows, right_rows = left.rows(queries), right.rows(texts)
        cosines = np.einsum("nw,nw->n", left.first[left_rows], right.first[right_rows])
        in_passages = left.is_long[left_rows] | right.is_long[right_rows]
        for row in np.flatnonzero(in_passages):
            cosines[row] = (left.passages[left_rows[row]] @ right.passages[right_rows[row]].T).max()
        return cosines, in_passages

    def forget_texts(self) -> None:
        """Drop the vectors of the texts read last."""
        self._vectors.clear()
        self._query_vectors.clear()

    def close(self) -> None:
        """End the processes of the encoders' devices, and drop the vectors."""
        self.forget_texts()
        self.texts.close()

    @property
    def identity(self) -> Mapping[str, Any]:
        """The encoder's identity, marked as a bi-encoder's."""
        reading = {"reads": "apart", "scale": self.scale, **self.texts.settings_identity}
        return {"name": self.name, **self.encoder.identity, **reading}


class _Table:
    """A table of distinct texts: the vectors of their `passages`, the `first` (N, W), and which have several."""

    def __init__(self, vectors: TextVectors, texts: Sequence[str], cache: ScoreCache | None, progress: bool) -> None:
        self._number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        self.passages = vectors.read(list(self._number), cache, progress=progress)
        self.first = np.stack([passages[0] for passages in self.passages])
        self.is_long = np.array([len(passages) > 1 for passages in self.passages], bool)

    def rows(self, texts: Sequence[str]) -> I64:
        """Return the number (N,) of each text in the table."""
        return np.array([self._number[text] for text in texts], np.int64)


@register("bi-encoder")
def load_bi_encoder(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``checkpoint`` is a folder inside the bundle or a hub name.

    Pooling, prompts and dimensions come from the entry or, by default, from the checkpoint's files.
    """
    reading, declared = dict(options), {key: options[key] for key in OPTIONS if key in options}
    for key in declared:
        del reading[key]
    files = _files_of(options, loading)
    settings = read_embedding_settings(files, declared)
    opening = {key: reading.pop(key) for key in OPENING if key in reading}
    if files.modules:
        opening |= {"checkpoint": str(files.transformer_folder.resolve()), "revision": None}
    opening |= {} if settings.max_length is None else {"max_length": settings.max_length}
    encoder, _ = shared_encoder(opening, loading)
    query_encoder = None
    if settings.query_encoder is not None:
        query_encoder, _ = shared_encoder({**opening, "checkpoint": settings.query_encoder, "revision": None}, loading)
    texts = PooledEncoder(
        encoder,
        settings.pooling,
        prompts=settings.prompts,
        includes_prompt=settings.includes_prompt,
        query_encoder=query_encoder,
    )
    return BiEncoderPerspective(name, texts, **reading)


def _files_of(options: Mapping[str, Any], loading: Loading) -> ModelFiles:
    """Return the settings in a checkpoint's files; empty for one without modules, such as those that mpir trains."""
    checkpoint = checkpoint_folder(options, loading)
    if (checkpoint / MODULES).is_file():
        return read_model_files(checkpoint, str(options["checkpoint"]))
    return ModelFiles(name=str(options["checkpoint"]), folder=checkpoint, config={})


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
