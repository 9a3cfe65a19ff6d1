"""Results of a search on the network: documents, the queries sent, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, overload

from mpir.core.text.types import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """A service's answer to a search: ids by relevance, the total number of matches, and the service's messages.

    `documents` are the records that came with the ids; `blank` counts those without a title and an abstract, which are
    left out. `messages` are on words and fields of the query; `notes` on how the search was carried out, such as a
    limit on its results. `error` is the reason for which the query was rejected, `next_mark` the cursor of the next
    page.
    """

    ids: tuple[str, ...] = ()
    count: int = 0
    documents: Mapping[str, Document] = field(default_factory=dict)
    translation: str = ""
    messages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""
    blank: int = 0
    next_mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentQuery:
    """A query as a service received it.

    `hits` is the number of matches that the service reports; `new` the number of candidates added to those of earlier
    queries; `translation` the query as the service understood it, where it reports that.
    """

    source: str
    query: str
    hits: int
    new: int
    translation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult(Sequence[Document]):
    """The candidates for a query, most promising first: a sequence of documents that `rerank` takes.

    `searches` are the queries in the order sent, source by source. `warnings` are sentences about anything missing: a
    service that failed, or records that were listed but not delivered.
    """

    query: str
    documents: tuple[Document, ...]
    searches: tuple[SentQuery, ...]
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    @overload
    def __getitem__(self, index: int) -> Document: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Document, ...]: ...

    def __getitem__(self, index: int | slice) -> Document | tuple[Document, ...]:
        return self.documents[index]

    def to_dict(self) -> dict[str, Any]:
        """The queries and warnings as plain values."""
        return {"searches": [asdict(sent) for sent in self.searches], "warnings": list(self.warnings)}
