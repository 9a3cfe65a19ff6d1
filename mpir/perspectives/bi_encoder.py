"""The bi-encoder: a transformer reads each text alone, and two texts are as alike as their vectors point alike.

A text's vector is the mean of its tokens' last states (Reimers & Gurevych, "Sentence-BERT", 2019). It is the encoder of
an `Encoder` that reads here, so both can be one model with one set of weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mpir.errors import InputError, format_value
from mpir.models.lazy import EncoderLike
from mpir.models.pooling import MEAN, Pooling
from mpir.perspectives.base import Loading, Perspective, register
from mpir.perspectives.cross_encoder import shared_encoder
from mpir.perspectives.normalization import COSINE, LOGIT, TOPS
from mpir.perspectives.text_vectors import TextVectors
from mpir.text.types import Pair
from mpir.types import F32, F64, Bool
from mpir.validation import check_choice

if TYPE_CHECKING:
    from mpir.perspectives.cache import ScoreCache

SCALES = (COSINE, LOGIT, *TOPS)
PAIRS_PER_PASS = 16_384
"""Pairs whose texts' vectors are held together, so that memory does not grow with the number of pairs."""


class BiEncoderPerspective(Perspective):
    """The similarity of question and text, on a scale that mpir fixes."""

    def __init__(
        self,
        name: str,
        encoder: EncoderLike,
        *,
        scale: str = "0-5",
        pooling: str = MEAN.method,
        similarity: str = MEAN.similarity,
    ) -> None:
        """Compare by an encoder: as the ``cosine`` itself, or by its share of a scale's top, a negative one being 0.

        `pooling` and `similarity` say what a vector is and how two are compared (see `Pooling`); the ``dot`` product
        has no bounds, and is a ``logit``, as it is.

        Raises:
            InputError: an unknown scale, pooling or similarity, or a scale that the similarity does not have.
        """
        self.pooling = Pooling(pooling, similarity)
        check_choice(f"perspective {format_value(name)}: scale", scale, SCALES)
        if (similarity == "dot") != (scale == LOGIT):
            raise InputError(
                f"perspective {format_value(name)}: the similarity {format_value(similarity)} has no scale "
                f"{format_value(scale)}."
            )
        self.name, self.encoder, self.scale = name, encoder, scale
        self._vectors = TextVectors(encoder, self.pooling)

    def score(self, question: str, sentences: Sequence[str]) -> F64:
        """Score each sentence for the question: (N,) on this perspective's scale."""
        return self.score_pairs([(question, sentence) for sentence in sentences])[0]

    def score_pairs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[F64, Bool]:
        """Scores (N,) of pairs, and which (N,) were read in passages; a text that several pairs have is read once."""
        return self.score_with_cache(pairs, None, progress=progress)

    def score_with_cache(
        self, pairs: Sequence[Pair], cache: ScoreCache | None, *, progress: bool = False
    ) -> tuple[F64, Bool]:
        """`score_pairs`, without reading texts whose vectors a cache holds; it keeps those of the others."""
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
        """Cosines (N,), of a text in several passages the highest, and which have such a text."""
        number = {text: i for i, text in enumerate(dict.fromkeys(text for pair in pairs for text in pair))}
        passages = self._vectors.read(list(number), cache, progress=progress)
        left, right = (np.array([number[pair[side]] for pair in pairs], np.int64) for side in (0, 1))
        first = np.stack([vectors[0] for vectors in passages])
        cosines = np.einsum("nw,nw->n", first[left], first[right])
        is_long = np.array([len(vectors) > 1 for vectors in passages], bool)
        in_passages = is_long[left] | is_long[right]
        for row in np.flatnonzero(in_passages):
            cosines[row] = (passages[left[row]] @ passages[right[row]].T).max()
        return cosines, in_passages

    def close(self) -> None:
        """End the processes of the encoder's devices, and let go of the vectors."""
        self._vectors.clear()
        self.encoder.close()

    @property
    def identity(self) -> Mapping[str, Any]:
        """The encoder's identity, and that its texts are read apart."""
        how = {} if self.pooling == MEAN else {"pooling": [self.pooling.method, self.pooling.similarity]}
        return {"name": self.name, **self.encoder.identity, "reads": "apart", "scale": self.scale, **how}


@register("bi-encoder")
def load_bi_encoder(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``checkpoint`` is a folder inside the bundle or a hub name."""
    encoder, reading = shared_encoder(options, loading)
    return BiEncoderPerspective(name, encoder, **reading)
