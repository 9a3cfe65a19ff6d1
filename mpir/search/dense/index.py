"""Search by vectors: find the documents whose passages are nearest to a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from mpir.core.text.query import is_field_search, plain_query, report_field_search
from mpir.core.text.split import sentences as split_sentences
from mpir.core.text.types import Document, Sentence
from mpir.errors import InputError, format_value
from mpir.search.base import ClosedAtExit, Vectoriser, has_words
from mpir.search.dense import faiss_backend as engine
from mpir.search.dense.segment import NAME, Hits
from mpir.search.dense.store import DenseStore, TextSource
from mpir.types import F32, F64, I64
from mpir.validation import whole_number

QUERIES_AT_ONCE = 256
NO_ENCODER = "was opened without an encoder, so it cannot read texts; pass DenseIndex the encoder of its vectors"


class DenseIndex(ClosedAtExit):
    """A dense index, opened for search; its vectors stay on disk and are mapped into memory.

    A document's score is the highest inner product of its vectors with the query's (MaxP). Scores are rounded, for
    vectors of length 1 to six decimals, for shorter ones to more; among equal ones, the lower id is first.
    """

    name = NAME

    def __init__(
        self,
        folder: str | Path,
        encoder: Vectoriser | None = None,
        *,
        parameters: str = "",
        texts: TextSource | None = None,
    ) -> None:
        """Open the index of a folder.

        Args:
            folder: the output of `build_dense` or `from_vectors`.
            encoder: encodes queries and new documents; without one, only vectors can be searched.
            parameters: faiss's search parameters, such as ``nprobe=32`` for IVF or ``efSearch=64`` for HNSW, or
                ``rescored=2000`` for the kind binary.
            texts: gives the documents of an index that stores vectors only; closed with the index.

        Raises:
            ArtefactError: faiss is not installed, or the index is missing, half-built, damaged, or of another encoder.
            InputError: parameters that the index lacks.
        """
        engine.faiss()
        self.folder, self.encoder = Path(folder), encoder
        self.store = DenseStore(self.folder, encoder, parameters=parameters, texts=texts)

    @property
    def identity(self) -> dict[str, Any]:
        """The corpus, the encoder and the kind of index."""
        info = self.store.info
        settings = {"factory": info.factory, "parameters": self.store.parameters, "segments": list(info.segments)}
        return {"source": dict(info.source), "documents": len(self), "encoder": dict(info.encoder), **settings}

    def __len__(self) -> int:
        return self.store.info.documents

    def close(self) -> None:
        """Close the index's files."""
        self.store.close()

    def search(self, query: str, k: int = 100) -> list[Document]:
        """Return the k nearest documents, best first, each with its score; none for a query without a word."""
        return self.search_batch([query], k)[0]

    def search_batch(self, queries: Sequence[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
        """Return the results of `search` for every query, in their order."""
        return search_in_batches(
            queries, self.query_vectors, partial(self.search_vectors, k=whole_number("k", k)), progress=progress
        )

    @property
    def has_sentences(self) -> bool:
        """Whether sentence vectors are stored."""
        return self.store.info.sentences

    def search_vectors(
        self, vectors: npt.NDArray[Any], k: int = 100, query_of: I64 | None = None
    ) -> list[list[Document]]:
        """The k documents nearest to each vector (Q, W), or to any of a query's vectors; for `query_of` see `nearest`.

        Raises:
            InputError: vectors of another width than the index's, or values that are not finite.
        """
        hits = self.nearest(np.asarray(vectors, np.float32), k, query_of)
        with self.store.reading():
            return [[self.store.document(*address) for address in query_hits] for query_hits in hits]

    def nearest(self, vectors: F32, k: int, query_of: I64 | None = None) -> list[list[tuple[int, int, float]]]:
        """Return (segment, number in it, score) of the k best documents of each query, best first.

        `query_of` (R,) is the query of each vector (R, W), ascending; by default each vector is a query.

        Raises:
            InputError: as `search_vectors`, or k is less than 1.
        """
        k = whole_number("k", k)
        self._check(vectors)
        query_of = np.arange(len(vectors)) if query_of is None else query_of
        with self.store.reading():
            longest = self.store.longest(vectors)
            by_segment = [
                segment.nearest(vectors, min(k, len(segment.ids)), longest) for segment in self.store.segments
            ]
        for segment, lists in zip(self.store.segments, by_segment, strict=True):
            self.store.check_scores(segment, vectors, [hits.scores for hits in lists])
        first = np.searchsorted(query_of, np.arange(int(query_of[-1]) + 2 if len(query_of) else 1))
        return [
            self._best([segment_hits[begin:end] for segment_hits in by_segment], k) for begin, end in pairwise(first)
        ]

    def _best(self, by_segment: Sequence[Sequence[Hits]], k: int) -> list[tuple[int, int, float]]:
        """Return one query's documents from each segment's results for each of its vectors.

        A document occurs at most once per vector, which bounds the results that can be among the k best; the others are
        dropped before documents are looked up.
        """
        hits = [
            (segment_number, passage_hits)
            for segment_number, segment_hits in enumerate(by_segment)
            for passage_hits in segment_hits
        ]
        segment_numbers = np.repeat(
            [segment_number for segment_number, _ in hits], [len(passage_hits.documents) for _, passage_hits in hits]
        )
        numbers, scores = (
            np.concatenate(arrays) for arrays in zip(*(passage_hits for _, passage_hits in hits), strict=True)
        )
        limit = min(k * max(map(len, by_segment)), len(scores))
        threshold = np.partition(scores, -limit)[-limit] if limit else 0.0
        best: dict[tuple[int, int], float] = {}
        segments = self.store.segments
        for row in np.flatnonzero(scores >= threshold):
            key = int(segment_numbers[row]), int(numbers[row])
            best[key] = max(float(scores[row]), best.get(key, -np.inf))
        ordered = sorted(best.items(), key=lambda item: (-item[1], bytes(segments[item[0][0]].ids[item[0][1]])))
        return [(*key, score) for key, score in ordered[:k]]

    def scores_of(self, query: str, ids: Sequence[str]) -> F64:
        """Return the scores (N,) of documents by their ids, from the index's vectors; 0 for one without any."""
        return self.scores_by_vectors(self.query_vectors([query] if has_words(query) else [])[0], ids)

    def scores_by_vectors(self, vectors: F32, ids: Sequence[str]) -> F64:
        """As `scores_of`, for a query's vectors (R, W), which may be none."""
        scores = np.zeros(len(ids))
        with self.store.reading():
            segment_numbers, numbers = self.store.find(ids)
            for segment_number in np.unique(segment_numbers[segment_numbers >= 0]) if len(vectors) else ():
                in_segment = segment_numbers == segment_number
                segment, longest = self.store.segments[segment_number], self.store.longest(vectors)
                scores[in_segment] = segment.scores_of(vectors, numbers[in_segment], longest)
                self.store.check_scores(segment, vectors, [scores[in_segment]])
        return scores

    def document(self, id: str) -> Document:
        """Return the stored document of an id, without a score. Raises InputError for an id that the index lacks."""
        with self.store.reading():
            return self.store.document(*self.store.find_one(id))

    def sentences_of(self, query: str, ids: Sequence[str]) -> list[list[tuple[Sentence, float]]]:
        """Return the sentences of each document with their scores for a query, best first.

        Raises:
            InputError: an id that the index lacks, an index without the vectors of sentences or the texts, or one of a
                version that split texts otherwise.
        """
        return self.sentences_by_vectors(self.query_vectors([query])[0], ids)

    def sentences_by_vectors(self, vectors: F32, ids: Sequence[str]) -> list[list[tuple[Sentence, float]]]:
        """As `sentences_of`, for a query's vectors (R, W)."""
        with self.store.reading():
            return [self._sentences(id, vectors) for id in ids]

    def _sentences(self, id: str, query_vectors: F32) -> list[tuple[Sentence, float]]:
        segment_number, number = self.store.find_one(id)
        segment = self.store.segments[segment_number]
        scores = segment.sentence_scores(number, query_vectors)
        if scores is None or not segment.has_texts:
            raise InputError(f"{self.folder}: has no vectors of sentences; build it with sentences and texts.")
        self.store.check_scores(segment, query_vectors, [scores])
        texts = split_sentences(segment.document(number))
        if len(texts) != len(scores):
            raise InputError(
                f"{self.folder}: document {format_value(id)} has {len(texts)} sentences but vectors of "
                f"{len(scores)}, because an older version split it differently; build the index again."
            )
        return [(texts[i], float(scores[i])) for i in np.argsort(-scores, kind="stable")]

    def query_vectors(self, queries: Sequence[str]) -> tuple[F32, I64]:
        """Return vectors (R, W) of queries, and the query (R,) of each. Raises InputError without an encoder."""
        if self.encoder is None:
            raise InputError(f"{self.folder}: {NO_ENCODER}.")
        if not queries:
            return np.zeros((0, self.store.info.width), np.float32), np.zeros(0, np.int64)
        if any(map(is_field_search, queries)):
            report_field_search()
        encode = getattr(self.encoder, "query_vectors", self.encoder.vectors)  # with the prompt of queries, if any
        vectors, query_of = encode([plain_query(query) for query in queries])
        return vectors, query_of

    def _check(self, vectors: F32) -> None:
        if vectors.ndim != 2 or vectors.shape[1] != self.store.info.width:
            raise InputError(
                f"{self.folder}: the index has vectors of width {self.store.info.width} and cannot be searched for "
                f"vectors of shape {vectors.shape}; use the encoder of the index."
            )
        if not np.isfinite(vectors).all():
            raise InputError("the vector of a query has values that are not finite; check its encoder.")


def search_in_batches(
    queries: Sequence[str],
    encode: Callable[[Sequence[str]], tuple[F32, I64]],
    search: Callable[..., list[list[Document]]],
    *,
    progress: bool,
) -> list[list[Document]]:
    """Return the results of all queries, in batches of limited size; none for a query without a word.

    `search` gets the vectors (R, W) of a batch, and as `query_of` (R,) the query of each.
    """
    results: list[list[Document]] = [[] for _ in queries]
    worded = [number for number, query in enumerate(queries) if has_words(query)]
    with tqdm(total=len(worded), desc="Searching", unit=" queries", disable=not progress) as bar:
        for start in range(0, len(worded), QUERIES_AT_ONCE):
            batch = worded[start : start + QUERIES_AT_ONCE]
            vectors, query_of = encode([queries[number] for number in batch])
            for number, documents in zip(batch, search(vectors, query_of=query_of), strict=True):
                results[number] = documents
            bar.update(len(batch))
    return results
