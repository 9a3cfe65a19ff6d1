"""What a first stage answers, whatever it searches by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from mpir.text.types import Document
from mpir.types import F64


class CandidateSource(Protocol):
    """The part of a first stage that scoring needs."""

    def search(self, query: str, k: int = 100) -> list[Document]:
        """The k best documents, best first."""

    def document(self, id: str) -> Document:
        """The document of an id."""

    def __len__(self) -> int:
        """How many documents there are."""


@runtime_checkable
class Retriever(Protocol):
    """A first stage: LuceneIndex (BM25), DenseIndex (vectors), HybridRetriever (several at once)."""

    @property
    def name(self) -> str:
        """What its score is called among the scores of a document, such as "bm25" or "dense"."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What its answers depend on, in JSON-able values."""

    def search(self, query: str, k: int = 100) -> list[Document]:
        """The k best documents, best first, each with its score; a query without words finds nothing."""

    def search_batch(self, queries: Sequence[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
        """`search` for every query, in their order."""

    def scores_of(self, query: str, ids: Sequence[str]) -> F64:
        """The scores (N,) of any documents by their ids; 0 for one that it lacks or that shares nothing."""

    def document(self, id: str) -> Document:
        """The stored document of an id, without a score. Raises InputError for an id that the index lacks."""

    def __len__(self) -> int:
        """How many documents there are."""

    def close(self) -> None:
        """Let go of files."""
