"""Search by vectors: find the documents whose passages are nearest to a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from mpir.core.text.field_syntax import is_field_search, plain_query, report_field_search
from mpir.core.text.split import sentences as split_sentences
from mpir.core.text.types import Document, Sentence
from mpir.errors import ArtefactError, InputError, format_value
from mpir.files.checksum import read_json_with_checksum, write_json_with_checksum
from mpir.files.files import allow_open, check_files, check_opening
from mpir.search.dense import faiss_backend as engine
from mpir.search.dense.build import describe, fill_segment
from mpir.search.dense.build_dir import FINISHED, LOCK, REMOVED, TRAINED, new_shard, writing
from mpir.search.dense.id_lookup import DocumentLookup
from mpir.search.dense.manifest import MANIFEST, REMEDY, check_encoder, read_dense_info, write_dense_info
from mpir.search.dense.segment import IDS, MAPPED, NAME, OFFSETS, VECTORS, Hits, Segment, load
from mpir.search.dense.shards import Vectoriser, check_unique, has_words, write_shard
from mpir.search.steady import open_steadily
from mpir.types import F32, F64, I64
from mpir.validation import COSINE_LIMIT, whole_number

QUERIES_AT_ONCE = 256
NO_ENCODER = "was opened without an encoder, so it cannot read texts; pass DenseIndex the encoder of its vectors"


class TextSource(Protocol):
    """The texts of documents by id, such as those of a LuceneIndex."""

    def document(self, id: str) -> Document:
        """Return the stored document of an id."""

    def close(self) -> None:
        """Close its files."""


class DenseIndex:
    """A dense index, opened for search; its vectors stay on disk and are mapped into memory.

    A document's score is the highest inner product of its vectors with the query's (MaxP). Scores are rounded to six
    decimals; among equal ones, the lower id is first.
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
        self.folder, self.encoder, self.parameters, self._texts = Path(folder), encoder, parameters, texts
        open_steadily([self.folder / MANIFEST], self._open, self.close)

    @property
    def identity(self) -> dict[str, Any]:
        """The corpus, the encoder and the kind of index."""
        info = self.info
        settings = {"factory": info.factory, "parameters": self.parameters, "segments": list(info.segments)}
        return {"source": dict(info.source), "documents": len(self), "encoder": dict(info.encoder), **settings}

    def _open(self) -> None:
        self.info = read_dense_info(self.folder)
        check_opening(self.folder, self.info.files, self.folder / MANIFEST, REMEDY)
        removed = self._removed()
        allow_open(
            self.folder,
            sum((self.folder / segment_name / file).exists() for segment_name in self.info.segments for file in MAPPED),
        )
        try:
            self.segments = [
                Segment(self.folder / name, removed=removed.get(name, ()), parameters=self.parameters)
                for name in self.info.segments
            ]
        except ArtefactError:
            check_files(self.folder, self.info.files, REMEDY, content=True)  # the message names the changed file
            raise
        self._places = DocumentLookup(self.segments)
        if self.encoder is not None:
            check_encoder(self.folder, self.info, self.encoder.identity)

    def _removed(self) -> Mapping[str, Sequence[int]]:
        """Return the numbers of the removed documents by segment."""
        path = self.folder / REMOVED
        removed = read_json_with_checksum(path, REMEDY) if path.exists() else {}
        for name, numbers in removed.items():
            count = len(load(self.folder / name / IDS)) if name in self.info.segments else 0
            if not isinstance(numbers, list) or not all(isinstance(i, int) and 0 <= i < count for i in numbers):
                raise ArtefactError(f"{path}: is damaged (segment {format_value(name)}); {REMEDY}.")
        return removed

    def __len__(self) -> int:
        return self.info.documents

    def __enter__(self) -> DenseIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the index's files."""
        self.segments = []
        if self._texts is not None:
            self._texts.close()

    def search(self, query: str, k: int = 100) -> list[Document]:
        """Return the k nearest documents, best first, each with its score; none for a query without a word."""
        return self.search_batch([query], k)[0]

    def search_batch(self, queries: Sequence[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
        """Return the results of `search` for every query, in their order."""
        return search_in_batches(queries, lambda batch: self._search(batch, k), progress=progress)

    def _search(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        worded = [i for i, query in enumerate(queries) if has_words(query)]
        vectors, query_of = self.query_vectors([queries[i] for i in worded])
        results: list[list[Document]] = [[] for _ in queries]
        for i, documents in zip(worded, self.search_vectors(vectors, k, query_of), strict=True):
            results[i] = documents
        return results

    @property
    def has_sentences(self) -> bool:
        """Whether sentence vectors are stored."""
        return self.info.sentences

    def _documents(self, hits: Sequence[Sequence[tuple[int, int, float]]]) -> list[list[Document]]:
        with self._reading():
            return [
                [self._document(segment_number, number, score) for segment_number, number, score in query_hits]
                for query_hits in hits
            ]

    def _document(self, segment_number: int, number: int, score: float | None = None) -> Document:
        """Return a document with its texts, wherever they are stored."""
        segment = self.segments[segment_number]
        document = segment.document(number, score)
        if segment.has_texts or self._texts is None:
            return document
        return replace(self._texts.document(document.id), score=score, scores=document.scores)

    def search_vectors(
        self, vectors: npt.NDArray[Any], k: int = 100, query_of: I64 | None = None
    ) -> list[list[Document]]:
        """The k documents nearest to each vector (Q, W), or to any of a query's vectors; for `query_of` see `nearest`.

        Raises:
            InputError: vectors of another width than the index's, or values that are not finite.
        """
        return self._documents(self.nearest(np.asarray(vectors, np.float32), k, query_of))

    def nearest(self, vectors: F32, k: int, query_of: I64 | None = None) -> list[list[tuple[int, int, float]]]:
        """Return (segment, number in it, score) of the k best documents of each query, best first.

        `query_of` (R,) is the query of each vector (R, W), ascending; by default each vector is a query.

        Raises:
            InputError: as `search_vectors`, or k is less than 1.
        """
        k = whole_number("k", k)
        self._check(vectors)
        query_of = np.arange(len(vectors)) if query_of is None else query_of
        by_segment = [segment.nearest(vectors, min(k, len(segment.ids))) for segment in self.segments]
        for segment, lists in zip(self.segments, by_segment, strict=True):
            self._check_scores(segment, vectors, [hits.scores for hits in lists])
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
        for row in np.flatnonzero(scores >= threshold):
            key = int(segment_numbers[row]), int(numbers[row])
            best[key] = max(float(scores[row]), best.get(key, -np.inf))
        ordered = sorted(best.items(), key=lambda item: (-item[1], self._id(item[0])))
        return [(*key, score) for key, score in ordered[:k]]

    def _id(self, address: tuple[int, int]) -> bytes:
        return bytes(self.segments[address[0]].ids[address[1]])

    def scores_of(self, query: str, ids: Sequence[str]) -> F64:
        """Return the scores (N,) of documents by their ids, from the index's vectors; 0 for one without any."""
        vectors, scores = self.query_vectors([query] if has_words(query) else [])[0], np.zeros(len(ids))
        with self._reading():
            segment_numbers, numbers = self._places.of(ids)
            for segment_number in np.unique(segment_numbers[segment_numbers >= 0]) if len(vectors) else ():
                in_segment = segment_numbers == segment_number
                scores[in_segment] = self.segments[segment_number].scores_of(vectors, numbers[in_segment])
                self._check_scores(self.segments[segment_number], vectors, [scores[in_segment]])
        return scores

    def holds(self, id: str) -> bool:
        """Whether there is a document of an id."""
        with self._reading():
            return bool(self._places.of([id])[0][0] >= 0)

    def document(self, id: str) -> Document:
        """Return the stored document of an id, without a score. Raises InputError for an id that the index lacks."""
        with self._reading():
            segment, number = self._find(id)
            return self._document(self.segments.index(segment), number)

    def sentences(self, query: str, id: str) -> list[tuple[Sentence, float]]:
        """Return the sentences of a document with their scores for a query, best first.

        Raises:
            InputError: an id that the index lacks, an index without the vectors of sentences or the texts, or one of a
                version that split texts otherwise.
        """
        return self.sentences_of(query, [id])[0]

    def sentences_of(self, query: str, ids: Sequence[str]) -> list[list[tuple[Sentence, float]]]:
        """`sentences` of several documents; the query is encoded once."""
        query_vectors = self.query_vectors([query])[0]
        with self._reading():
            return [self._sentences(id, query_vectors) for id in ids]

    def _sentences(self, id: str, query_vectors: F32) -> list[tuple[Sentence, float]]:
        segment, number = self._find(id)
        scores = segment.sentence_scores(number, query_vectors)
        if scores is None or not segment.has_texts:
            raise InputError(f"{self.folder}: has no vectors of sentences; build it with sentences and texts.")
        self._check_scores(segment, query_vectors, [scores])
        texts = split_sentences(segment.document(number))
        if len(texts) != len(scores):
            raise InputError(
                f"{self.folder}: document {format_value(id)} has {len(texts)} sentences but vectors of "
                f"{len(scores)}, because an older version split it differently; build the index again."
            )
        return [(texts[i], float(scores[i])) for i in np.argsort(-scores, kind="stable")]

    def add(self, documents: Iterable[Document]) -> None:
        """Add documents as a new segment.

        Raises:
            InputError: no documents, or an id that the index has already; remove that one first.
            OutputError: another process is writing the index.
        """
        added = list(documents)
        if not added:
            raise InputError(f"{self.folder}: there are no documents to add; check that the corpus is not empty.")
        if self.encoder is None:
            raise InputError(f"{self.folder}: {NO_ENCODER}.")
        with self._changing():
            names = [document.id for document in added]
            segment_numbers, _ = self._places.of(names)
            check_unique(
                names,
                {name for name, segment_number in zip(names, segment_numbers, strict=True) if segment_number >= 0},
            )
            texts = all((segment.folder / OFFSETS).exists() for segment in self.segments)
            with new_shard(self.folder, 1 + max(map(int, self.info.segments))) as shard:
                write_shard(shard, added, self.encoder, sentences=self.info.sentences, texts=texts)
                fill_segment(shard, self.folder / TRAINED, self.info.factory)
            for name in (FINISHED,) if self.info.factory == engine.BINARY else (VECTORS, FINISHED):
                (shard / name).unlink()
            self._write([*self.info.segments, shard.name])

    def known_ids(self, ids: Sequence[str]) -> list[str]:
        """Return the ids that the index has, each once."""
        segment_numbers, _ = self._places.of(ids)
        return list(dict.fromkeys(name for name, number in zip(ids, segment_numbers, strict=True) if number >= 0))

    def remove(self, ids: Sequence[str]) -> None:
        """Remove documents; searches skip their vectors from now on.

        Raises:
            InputError: an id that the index lacks, or that is named twice.
            OutputError: another process is writing the index.
        """
        check_unique(ids)
        with self._changing():
            for segment, number in [self._find(name) for name in ids]:
                segment.removed[number] = True
            removed = {
                index_segment.folder.name: np.flatnonzero(index_segment.removed).tolist()
                for index_segment in self.segments
            }
            write_json_with_checksum(self.folder / REMOVED, removed)
            self._write(self.info.segments)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Lock the index for writing, and reopen it, because another process may have changed it."""
        with writing(self.folder / LOCK):
            self._open()
            yield

    def _write(self, segments: Sequence[str]) -> None:
        """Write a new manifest, and reopen the index."""
        info = describe(
            self.folder,
            segments,
            self.info.width,
            factory=self.info.factory,
            seed=self.info.seed,
            encoder=self.info.encoder,
            source=self.info.source,
            known=self.info.files,
        )
        removed = sum(int(segment.removed.sum()) for segment in self.segments)
        write_dense_info(self.folder, replace(info, documents=info.documents - removed))
        self._open()

    def query_vectors(self, queries: Sequence[str]) -> tuple[F32, I64]:
        """Return vectors (R, W) of queries, and the query (R,) of each. Raises InputError without an encoder."""
        if self.encoder is None:
            raise InputError(f"{self.folder}: {NO_ENCODER}.")
        if not queries:
            return np.zeros((0, self.info.width), np.float32), np.zeros(0, np.int64)
        if any(map(is_field_search, queries)):
            report_field_search()
        read_queries = getattr(
            self.encoder, "query_vectors", self.encoder.vectors
        )  # with the prompt of queries, if any
        vectors, query_of = read_queries([plain_query(query) for query in queries])
        return vectors, query_of

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Context manager that verifies the hashes of files after an error, which a changed file may have caused.

        Raises:
            ArtefactError: a file has changed.
        """
        try:
            yield
        except InputError:
            raise
        except (ValueError, LookupError, TypeError):
            check_files(self.folder, self.info.files, REMEDY, content=True)
            raise

    def _check(self, vectors: F32) -> None:
        if vectors.ndim != 2 or vectors.shape[1] != self.info.width:
            raise InputError(
                f"{self.folder}: the index has vectors of width {self.info.width} and cannot be searched for vectors "
                f"of shape {vectors.shape}; use the encoder of the index."
            )
        if not np.isfinite(vectors).all():
            raise InputError("the vector of a query has values that are not finite; check its encoder.")

    def _check_scores(self, segment: Segment, vectors: F32, scores: Sequence[npt.NDArray[Any]]) -> None:
        """Check a segment's scores for values that the encoder's vectors cannot produce.

        Raises:
            ArtefactError: a score that is not finite, or a cosine beyond 1; the message names a changed file.
        """
        values = np.concatenate([np.zeros(0), *scores])
        highest = COSINE_LIMIT if self.info.encoder and _of_length_1(vectors) else np.inf
        wrong = values[~(np.isfinite(values) & (np.abs(values) <= highest))]
        if len(wrong):
            check_files(self.folder, self.info.files, REMEDY, content=True)
            expected = "a finite number" if highest == np.inf else "a cosine from -1 to 1"
            raise ArtefactError(f"{segment.folder}: gives the score {wrong[0]:.6g} (expected {expected}); {REMEDY}.")

    def _find(self, id: str) -> tuple[Segment, int]:
        segment_numbers, numbers = self._places.of([id])
        if segment_numbers[0] >= 0:
            return self.segments[segment_numbers[0]], int(numbers[0])
        raise InputError(f"{self.folder}: holds no document with id {format_value(id)}; check the id and the corpus.")


def search_in_batches(
    queries: Sequence[str], search: Callable[[Sequence[str]], list[list[Document]]], *, progress: bool
) -> list[list[Document]]:
    """Return the results of `search` for all queries, in batches of limited size."""
    results: list[list[Document]] = []
    with tqdm(total=len(queries), desc="Searching", unit=" queries", disable=not progress) as bar:
        for start in range(0, len(queries), QUERIES_AT_ONCE):
            batch = queries[start : start + QUERIES_AT_ONCE]
            results += search(batch)
            bar.update(len(batch))
    return results


def _of_length_1(vectors: F32) -> bool:
    """Whether vectors (R, W) have length 1 or 0, so that their products are cosines."""
    return bool(len(vectors)) and bool(np.isclose(np.linalg.norm(vectors, axis=1).max(), 1.0, atol=1e-3))
