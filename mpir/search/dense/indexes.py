"""Vectors in several dense indexes, searched as one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from mpir.core.text.types import Document, Sentence
from mpir.errors import InputError, format_paths, format_value
from mpir.search.base import ClosedAtExit, check_different, check_distinct, has_words
from mpir.search.dense.index import DenseIndex, search_in_batches
from mpir.search.dense.segment import NAME
from mpir.types import F32, F64, I64
from mpir.validation import whole_number


class DenseIndexes(ClosedAtExit):
    """Dense indexes of different documents by one encoder: results are those of one index of all documents.

    A query is encoded once. Exact indexes (``Flat``) together give the results of one index; other kinds are trained on
    their own vectors, so their approximations differ from those of one index.
    """

    name = NAME

    def __init__(self, indexes: Sequence[DenseIndex]) -> None:
        """Search open indexes, each made with the encoder of the first.

        Raises:
            InputError: an index that is named twice.
        """
        check_different([index.folder for index in indexes])
        self.indexes, self._names = tuple(indexes), format_paths([index.folder for index in indexes])

    @property
    def identity(self) -> dict[str, Any]:
        """The identities of the indexes."""
        return {"indexes": [index.identity for index in self.indexes]}

    @property
    def has_sentences(self) -> bool:
        """Whether all indexes have sentence vectors."""
        return all(index.has_sentences for index in self.indexes)

    def search(self, query: str, k: int = 100) -> list[Document]:
        """Return the k nearest documents, best first, each with its score; none for a query without a word."""
        return self.search_batch([query], k)[0]

    def search_batch(self, queries: Sequence[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
        """`search` for every query, in their order. Raises InputError where a document is in more than one index."""
        k = whole_number("k", k)
        encode, search = self.indexes[0].query_vectors, partial(self._search_vectors, k=k)
        return search_in_batches(queries, encode, search, progress=progress)

    def _search_vectors(self, vectors: F32, k: int, query_of: I64) -> list[list[Document]]:
        by_index = [index.search_vectors(vectors, k, query_of) for index in self.indexes]
        hits = ([document for hits in lists for document in hits] for lists in zip(*by_index, strict=True))
        return [sorted(check_distinct(documents, self._names), key=_rank)[:k] for documents in hits]

    def scores_of(self, query: str, ids: Sequence[str]) -> F64:
        """Return the scores (N,) of documents by their ids; 0 for one without a vector, or that all indexes lack."""
        vectors = self.indexes[0].query_vectors([query] if has_words(query) else [])[0]
        return np.asarray(np.sum([index.scores_by_vectors(vectors, ids) for index in self.indexes], axis=0))

    def document(self, id: str) -> Document:
        """Return the stored document of an id, without a score. Raises InputError for an id that all indexes lack."""
        return self._index_of(id).document(id)

    def sentences_of(self, query: str, ids: Sequence[str]) -> list[list[tuple[Sentence, float]]]:
        """The sentences of documents with their scores for a query. Raises InputError as `DenseIndex.sentences_of`."""
        vectors = self.indexes[0].query_vectors([query])[0]
        return [self._index_of(id).sentences_by_vectors(vectors, [id])[0] for id in ids]

    def _index_of(self, id: str) -> DenseIndex:
        for index in self.indexes:
            if index.store.find([id])[0][0] >= 0:
                return index
        raise InputError(f"{self._names}: hold no document with id {format_value(id)}; check the id and the corpora.")

    def __len__(self) -> int:
        return sum(map(len, self.indexes))

    def close(self) -> None:
        """Close the indexes' files."""
        for index in self.indexes:
            index.close()


def _rank(document: Document) -> tuple[float, str]:
    """Sort key: higher scores first, and the lower id among equal ones."""
    return -(document.score or 0.0), document.id
