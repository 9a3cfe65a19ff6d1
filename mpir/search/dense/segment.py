"""A segment: some documents of a dense index with their vectors, in an immutable folder.

`ids.npy` (D,) has the documents' ids in UTF-8, `first.npy` (D + 1,) the number of the first vector of each, and
`index.faiss` the vectors. `documents.jsonl` has titles and abstracts, if they are stored, at the byte offsets of
`places.npy` (D + 1,). `sentences.npy` (P, W) has sentence vectors in half precision, `first_sentence.npy` (D + 1,) the
first sentence of each document, and `first_passage.npy` (S + 1,) the first vector of each sentence. With one-bit codes,
`index.faiss` and `index-001.faiss` … have the codes, `vectors.npy` (V, W) the vectors in half precision, and
`order.npy` (D,) the documents' numbers in the order of their ids.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mpir.core.text.characters import without_surrogates
from mpir.core.text.types import Document
from mpir.errors import ArtefactError
from mpir.files.arrays import NoArrayError, map_array
from mpir.search.dense.codes import RescoredCodes
from mpir.search.dense.faiss_backend import longest_vector, read_index, reconstruct, set_parameters
from mpir.search.rounding import decimals_of, round_rows
from mpir.types import F32, F64, I32, I64

IDS, FIRST, INDEX, VECTORS = "ids.npy", "first.npy", "index.faiss", "vectors.npy"
RECORDS, OFFSETS = "documents.jsonl", "places.npy"
SENTENCES, FIRST_SENTENCE, FIRST_PASSAGE = "sentences.npy", "first_sentence.npy", "first_passage.npy"
ORDER, CODES = "order.npy", "index-{:03d}.faiss"
MAPPED = (IDS, FIRST, VECTORS, ORDER, RECORDS, OFFSETS, SENTENCES, FIRST_SENTENCE, FIRST_PASSAGE)
"""Files of a segment that stay open."""
MARGIN = 16
"""Additional vectors to request, because several may belong to one document or tie with the last."""
NAME = "dense"
"""The name of the score among a document's scores."""
DECIMALS = 6
"""Decimals of the scores of vectors of length 1, so that differences between batch sizes do not change the order."""


class Hits(NamedTuple):
    """Documents of a segment by number (n,) with scores (n,), best first, and the lower id first among equal ones."""

    documents: I64
    scores: F64


class Segment:
    """A segment, opened for search."""

    def __init__(self, folder: Path, *, removed: Iterable[int] = (), parameters: str = "") -> None:
        """Open it. Raises ArtefactError for a missing or damaged file, InputError for unknown parameters."""
        self.folder = folder
        self.ids, self.first = load(folder / IDS), load(folder / FIRST)
        self.index = _read_vectors(folder)
        if self.index.ntotal != self.first[-1] or len(self.first) != len(self.ids) + 1:
            raise ArtefactError(
                f"{folder}: holds {self.index.ntotal} vectors of {len(self.ids)} documents, but {FIRST} says "
                f"{int(self.first[-1])} of {len(self.first) - 1}; it is damaged, so build the index again."
            )
        self._map_optional()
        set_parameters(self.index, parameters)
        self.removed = np.zeros(len(self.ids), bool)
        self.removed[list(removed)] = True

    def _map_optional(self) -> None:
        """Map texts and vectors of sentences, if there are any: later, an update may have replaced the folder."""
        self._offsets = self._optional_array(OFFSETS)
        self._records = None if self._offsets is None else _map_bytes(self.folder / RECORDS)
        self._sentences, self._first_sentence = map(self._optional_array, (SENTENCES, FIRST_SENTENCE))
        self._first_passage = self._optional_array(FIRST_PASSAGE)  # older indexes have one vector of each sentence

    @property
    def has_texts(self) -> bool:
        """Whether texts are stored."""
        return self._offsets is not None

    @property
    def bounds(self) -> tuple[bytes, bytes]:
        """The lowest and highest id."""
        return bytes(self.ids[self._order[0]]), bytes(self.ids[self._order[-1]])

    def numbers_of(self, names: npt.NDArray[np.bytes_]) -> I64:
        """Return the numbers (n,) of documents by their `encoded` ids; -1 for a missing or removed one."""
        rows = [bisect_left(self._order, name, key=self.ids.__getitem__) for name in names]
        numbers = self._order[np.minimum(rows, len(self.ids) - 1)].astype(np.int64)
        return np.where((self.ids[numbers] == names) & ~self.removed[numbers], numbers, -1)

    @cached_property
    def _order(self) -> I32:
        """The documents' numbers (D,) in the order of their ids: four bytes each, where a dict takes a hundred."""
        stored = self._optional_array(ORDER)
        return np.argsort(self.ids, kind="stable").astype(np.int32) if stored is None else stored

    @cached_property
    def longest(self) -> float:
        """The length of the longest of a sample of the vectors."""
        return longest_vector(self.index)

    def nearest(self, vectors: F32, k: int, longest: float) -> list[Hits]:
        """Return the k documents whose best vector is nearest to each query's vector (Q, W), or all if there are fewer.

        Scores are rounded in proportion to the queries' lengths and to the `longest` vector of the index.
        Vectors are requested until k documents are found and the next vector is farther than the last document's.
        """
        total, count = int(self.index.ntotal), k + MARGIN
        results: list[Hits] = [Hits(np.zeros(0, np.int64), np.zeros(0))] * len(vectors)
        waiting = np.arange(len(vectors)) if total else np.zeros(0, np.int64)
        decimals = _decimals(vectors, longest)
        while len(waiting):
            count = min(count, total)
            scores, rows = self.index.search(np.ascontiguousarray(vectors[waiting], np.float32), count)
            pending = []
            rounded = round_rows(scores.astype(np.float64), decimals[waiting])
            for query, values, row in zip(waiting, rounded, rows, strict=True):
                results[query], is_complete = self._documents(values, row, k)
                if not is_complete and count < total:
                    pending.append(query)
            waiting, count = np.array(pending, np.int64), 4 * count
        return results

    def _documents(self, scores: F64, rows: I64, k: int) -> tuple[Hits, bool]:
        """Return the documents of the nearest vectors, best first, and whether further vectors cannot change them."""
        is_hit = rows >= 0  # -1 marks a missing one
        documents = np.searchsorted(self.first, rows[is_hit], side="right") - 1
        values = scores[is_hit]
        remains = ~self.removed[documents]
        documents, best = np.unique(documents[remains], return_index=True)
        best_values = values[remains][best]
        order = np.lexsort((self.ids[documents], -best_values))[:k]
        is_complete = not is_hit.all() or (len(order) == k and bool(best_values[order[-1]] > values[-1]))
        return Hits(documents[order], best_values[order]), is_complete

    def scores_of(self, vectors: F32, documents: I64, longest: float) -> F64:
        """Return the highest product (D,) of the vectors (R, W) with each document's vectors; 0 for one without any.

        They are rounded as in `nearest`.
        """
        spans = [self._rows_of(i) for i in documents]
        rows = np.concatenate([np.zeros(0, np.int64), *spans]).astype(np.int64)
        products = vectors @ reconstruct(self.index, rows).T if len(rows) else np.zeros((len(vectors), 0))
        best = round_rows(products.astype(np.float64), _decimals(vectors, longest)).max(axis=0)
        by_document = np.split(best, np.cumsum([len(span) for span in spans])[:-1])
        return np.array([float(scores.max()) if len(scores) else 0.0 for scores in by_document])

    def _rows_of(self, number: int) -> I64:
        """Return the rows of a document's vectors; faiss would read others, too. Raises IndexError for those."""
        return np.arange(*_bounds(self.first, number, self.index.ntotal))

    def document(self, number: int, score: float | None = None) -> Document:
        """Return a document, with its id only if texts are not stored."""
        identifier, scores = decoded(self.ids[number]), {} if score is None else {NAME: score}
        if self._offsets is None or self._records is None:
            return Document(identifier, score=score, scores=scores)
        begin, end = self._offsets[number : number + 2].tolist()
        values = json.loads(self._records[begin:end].tobytes())
        return Document(identifier, values["title"], values["abstract"], score=score, scores=scores)

    def sentence_scores(self, number: int, vectors: F32) -> F32 | None:
        """Return the highest product (S,) of the vectors (R, W) with each sentence's vectors."""
        if self._sentences is None or self._first_sentence is None:
            return None
        limit = len(self._sentences if self._first_passage is None else self._first_passage)
        begin, end = _bounds(self._first_sentence, number, limit)
        first = np.arange(begin, end + 1) if self._first_passage is None else self._first_passage[begin : end + 1]
        if begin == end:
            return np.zeros(0, np.float32)
        scores = np.asarray(self._sentences[first[0] : first[-1]], np.float32) @ vectors.T
        return np.asarray(np.maximum.reduceat(scores.max(axis=1), first[:-1] - first[0]))

    def _optional_array(self, name: str) -> npt.NDArray[Any] | None:
        return load(self.folder / name) if (self.folder / name).exists() else None


def _bounds(first: npt.NDArray[Any], number: int, limit: int) -> tuple[int, int]:
    """Return where a document's rows begin and end. Raises IndexError for rows beyond the limit."""
    begin, end = (int(row) for row in first[number : number + 2])
    if not 0 <= begin <= end <= limit:
        raise IndexError(f"rows {begin} to {end} of {limit}")
    return begin, end


def _decimals(vectors: F32, longest: float) -> I64:
    """Return the decimals (Q,) of the products of queries' vectors (Q, W) with vectors of a length."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1) * longest
    return np.array([decimals_of(length, DECIMALS) for length in lengths], np.int64)


def _read_vectors(folder: Path) -> Any:
    """Open a segment's vectors: a faiss index, or codes with the vectors beside them."""
    if not (folder / VECTORS).exists():
        return read_index(folder / INDEX)
    return RescoredCodes([folder / INDEX, *sorted(folder.glob(CODES.replace("{:03d}", "*")))], folder / VECTORS)


def load(path: Path) -> npt.NDArray[Any]:
    """Map an array from its file. Raises ArtefactError if it is missing or damaged."""
    try:
        return np.asarray(map_array(path))  # a plain view, because indexing a memmap is slow
    except NoArrayError as error:
        raise ArtefactError(f"{path}: is missing or damaged ({error}); build the index again.") from error


def _map_bytes(path: Path) -> npt.NDArray[np.uint8]:
    """Map the bytes of a file. Raises ArtefactError if it is missing or empty."""
    try:
        return np.memmap(path, np.uint8, "r")
    except (OSError, ValueError) as error:
        raise ArtefactError(f"{path}: is missing or damaged ({error}); build the index again.") from error


def encoded(identifiers: Sequence[str]) -> npt.NDArray[np.bytes_]:
    """Encode ids (D,) in UTF-8, whose order is that of the characters."""
    return np.array([without_surrogates(identifier).encode() for identifier in identifiers], np.bytes_)


def decoded(identifier: bytes) -> str:
    """Decode an id."""
    return bytes(identifier).decode()


def write_records(folder: Path, documents: Sequence[Document]) -> None:
    """Write the texts of documents."""
    offsets = [0]
    with open(folder / RECORDS, "wb") as stream:
        for document in documents:
            line = json.dumps({"title": document.title, "abstract": document.abstract}).encode() + b"\n"
            stream.write(line)
            offsets.append(offsets[-1] + len(line))
    np.save(folder / OFFSETS, np.array(offsets, np.int64))
