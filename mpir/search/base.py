"""The interface of a first stage, independent of its method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from mpir.core.text.types import Document
from mpir.errors import InputError, format_value
from mpir.files.paths import resolved
from mpir.types import F64


class CandidateSource(Protocol):
    """The methods of a first stage that are needed for scoring."""

    def search(self, query: str, k: int = 100) -> list[Document]:
        """Return the k best documents, best first."""

    def document(self, id: str) -> Document:
        """Return the document of an id."""

    def __len__(self) -> int:
        """Return the number of documents."""


@runtime_checkable
class Retriever(Protocol):
    """A first stage: LuceneIndex (BM25), DenseIndex (vectors), HybridRetriever (both at once). Threads may share it."""

    @property
    def name(self) -> str:
        """The name of its score among a document's scores, such as "bm25" or "dense"."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that its results depend on, in JSON-able values."""

    def search(self, query: str, k: int = 100) -> list[Document]:
        """Return the k best documents, best first, each with its score; a query without words finds nothing."""

    def search_batch(self, queries: Sequence[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
        """Return the results of `search` for every query, in their order."""

    def scores_of(self, query: str, ids: Sequence[str]) -> F64:
        """Return the scores (N,) of documents by id; 0 for an unknown document, or one without a common word."""

    def document(self, id: str) -> Document:
        """Return the stored document of an id, without a score. Raises InputError for an id that the index lacks."""

    def __len__(self) -> int:
        """Return the number of documents."""

    def close(self) -> None:
        """Close its files."""


def check_distinct(documents: Sequence[Document], names: str) -> list[Document]:
    """Return the results of a search of several indexes, whose names begin the message of an error.

    Raises:
        InputError: a document is in more than one of the indexes.
    """
    known_ids = set()
    for document in documents:
        if document.id in known_ids:
            raise InputError(
                f"{names}: document {format_value(document.id)} is in more than one of these indexes; index each "
                "document once."
            )
        known_ids.add(document.id)
    return list(documents)


def check_different(folders: Sequence[str | Path]) -> None:
    """Raise InputError for a folder that is named twice among indexes to be searched together."""
    known_folders = set()
    for folder in folders:
        if resolved(folder) in known_folders:
            raise InputError(f"{folder}: the index is given twice; name each index once.")
        known_folders.add(resolved(folder))
