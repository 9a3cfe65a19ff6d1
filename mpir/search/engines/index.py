"""A corpus in OpenSearch or Elasticsearch, searched there by words or vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from tqdm import tqdm

from mpir.core.text.characters import without_surrogates
from mpir.core.text.query import as_read, is_field_search, report_field_search
from mpir.core.text.types import Document
from mpir.errors import EndpointError, InputError, format_value
from mpir.search.base import ClosedAtExit, Vectoriser, has_words
from mpir.search.engines.client import EngineClient, check_address
from mpir.search.engines.hits import Hit, check_complete, is_count, read_hits
from mpir.types import F64
from mpir.validation import check_choice, real_number, whole_number

ENGINES, MODES = ("opensearch", "elasticsearch"), ("bm25", "dense")
PAGE = 1000
"""Documents whose scores one request asks for."""
DEEPEST = 10_000
"""Documents that an engine returns for a query by default (`index.max_result_window`)."""
CANDIDATES = 10_000
"""Most candidates of each shard that Elasticsearch's k-NN compares."""
TIMEOUT = 30.0
"""Seconds to wait for an answer."""
_WHOLE = "_search?allow_partial_search_results=false"
"""A search that fails where a shard does; by default both engines return what the others have."""


class EngineIndex(ClosedAtExit):
    """An index in OpenSearch or Elasticsearch with fields for title, abstract and, for the mode dense, vector.

    Scores are the engine's own; for cosine similarity both return (1 + cosine) / 2. Combine two of them with
    `HybridRetriever`. Threads may share it.
    """

    FIELDS: ClassVar[tuple[str, ...]] = ("title", "abstract", "vector")
    """The fields' names for title, abstract and vector, unless others are given."""

    def __init__(
        self,
        address: str,
        *,
        mode: str = "bm25",
        encoder: Vectoriser | None = None,
        fields: tuple[str, ...] = (),
        timeout: float = TIMEOUT,
    ) -> None:
        """Connect to the index at an address such as ``elasticsearch+https://localhost:9200/pubmed``.

        The login is taken from $ENGINE_API_KEY, or $ENGINE_USER and $ENGINE_PASSWORD.

        Args:
            address: the engine, its URL, and the name of the index.
            mode: ``bm25`` for words, ``dense`` for vectors.
            encoder: encodes queries for the mode dense.
            fields: the names of the fields in place of `FIELDS`.
            timeout: seconds to wait for an answer.

        Raises:
            InputError: another address or mode, a login in the address, or no encoder for the mode dense.
            EndpointError: there is no such index, or it cannot be reached.
        """
        check_choice("mode", mode, MODES)
        engine, url, index = self._parts(address)
        if mode == "dense" and encoder is None:
            raise InputError(f"{address}: a search by vectors needs the encoder of the index's vectors; pass one.")
        real_number("timeout", timeout, "a number of seconds above 0", lambda value: value > 0)
        self.address, self.name, self.encoder, self.fields = address, mode, encoder, fields or self.FIELDS
        if len(self.fields) != len(self.FIELDS):
            expected = f"{len(self.FIELDS)} names, such as {self.FIELDS}"
            raise InputError(f"fields is {format_value(tuple(self.fields))}; expected {expected}.")
        self.engine, self.index, self.timeout = engine, index, timeout
        self._client = self._connect(url)
        self._check_index()

    def _check_index(self) -> None:
        len(self)  # raises for a missing index

    @property
    def identity(self) -> dict[str, Any]:
        """The address, the mode, the fields and the encoder."""
        identity = {"engine": self.address, "mode": self.name, "fields": list(self.fields), "documents": len(self)}
        return identity | ({} if self.encoder is None else {"encoder": dict(self.encoder.identity)})

    def search(self, query: str, k: int = 100) -> list[Document]:
        """Return the k best documents, best first; a query without words finds nothing.

        Raises:
            InputError: k is less than 1 or more than 10,000.
            EndpointError: the engine cannot be reached, refuses the request, takes too long, or returns what is no
                complete list of documents with scores.
        """
        k, query = whole_number("k", k, maximum=DEEPEST), self._read(query)
        if not has_words(query):
            return []
        # All in one answer: from one page to the next, engines promise neither the same order nor the same documents.
        return self._documents(self._hits({**self._query(query, k), "size": k}))

    def _stored(self, ids: Sequence[str]) -> list[Hit]:
        """Return the documents of ids that the index holds, without scores."""
        source = list(self.fields[:2])
        body = {"query": {"ids": {"values": list(ids)}}, "size": len(ids), "_source": source}
        return self._of(ids, self._hits(body, scored=False))

    def _of(self, ids: Sequence[str], hits: list[Hit]) -> list[Hit]:
        """Return hits, each of which is of one of the ids. Raises EndpointError for another."""
        allowed = set(ids)
        for hit in hits:
            if hit.id not in allowed:
                raise EndpointError(
                    f"{self.address}: the engine returned the document {format_value(hit.id)}, which was not asked "
                    "for. Check that it is the right engine."
                )
        return hits

    def _documents(self, hits: Sequence[Hit]) -> list[Document]:
        return [hit.document(self.name, self.fields[:2], self.address) for hit in hits]

    def search_batch(self, queries: Sequence[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
        """Return the results of `search` for every query, in their order."""
        return [self.search(query, k) for query in tqdm(queries, "Searching", unit=" queries", disable=not progress)]

    def scores_of(self, query: str, ids: Sequence[str]) -> F64:
        """Return the scores (N,) of documents by id; 0 for an unknown document, or one without a common word."""
        query = self._read(query)
        score_of: dict[str, float | None] = {}
        for begin in range(0, len(ids) if has_words(query) else 0, PAGE):
            chosen = list(ids[begin : begin + PAGE])
            body = self._query(query, len(chosen), {"ids": {"values": chosen}})
            hits = self._hits({**body, "size": len(chosen)})
            score_of |= {hit.id: hit.score for hit in self._of(chosen, hits)}
        return np.array([score_of.get(name, 0.0) for name in ids], np.float64)

    def document(self, id: str) -> Document:
        """Return the stored document of an id, without a score. Raises InputError for an id that the index lacks."""
        hits = self._stored([id])
        if not hits:
            raise InputError(f"{self.address}: holds no document with id {format_value(id)}; check the id.")
        return self._documents(hits)[0]

    def __len__(self) -> int:
        answer = self._client.post("_count", {"query": {"match_all": {}}})
        check_complete(answer, 0, 0, self.address)
        return self._count(answer.get("count"))

    def _count(self, value: Any) -> int:
        if not is_count(value):
            raise EndpointError(
                f"{self.address}: the engine counts {format_value(value)} documents (expected a number). Check that it "
                "is the right engine."
            )
        return int(value)

    def close(self) -> None:
        """Do nothing: connections are the process's."""

    def _parts(self, address: str) -> tuple[str, str, str]:
        """Return the engine, the URL of the server, and the index. Raises InputError for another form."""
        engine, _, url = str(address).partition("+")
        server, _, index = url.rstrip("/").rpartition("/")
        example = "opensearch+https://localhost:9200/pubmed"
        expected = f"index in an engine; expected {' or '.join(ENGINES)}, as in {example}."
        return engine, check_address(address, server if engine in ENGINES else "", index, expected), index

    def _connect(self, url: str) -> Any:
        """Return the client of the server."""
        return EngineClient(address=self.address, url=url, index=self.index, timeout=self.timeout)

    def _query(self, query: str, k: int, only: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the body of a search, in the engine's own form, for all documents or `only` those of a filter."""
        title, abstract, field = self.fields
        source = {"_source": [title, abstract]}
        if self.name == "bm25":
            words = {"multi_match": {"query": query, "type": "cross_fields", "fields": [title, abstract]}}
            return source | {"query": {"bool": {"must": [words], "filter": [only]}} if only else words}
        vector, limit = self._vector(query), {"filter": only} if only else {}
        if self.engine == "opensearch":
            return source | {"query": {"knn": {field: {"vector": vector, "k": k, **limit}}}}
        count = {"k": k, "num_candidates": min(CANDIDATES, max(k, 2 * k))}
        return source | {"knn": {"field": field, "query_vector": vector, **count, **limit}}

    def _vector(self, query: str) -> list[float]:
        assert self.encoder is not None
        vectors, _ = getattr(self.encoder, "query_vectors", self.encoder.vectors)([query])
        if len(vectors) != 1:
            raise InputError(f"the query {format_value(query)} is longer than the encoder reads; shorten it.")
        return [float(value) for value in vectors[0]]

    def _read(self, query: str) -> str:
        """Return the words of a query, as mpir's own indexes read them: without field syntax, 4,000 characters long."""
        if is_field_search(query):
            report_field_search()
        return without_surrogates(as_read(query))

    def _hits(self, body: Mapping[str, Any], *, scored: bool = True) -> list[Hit]:
        """Return the hits of one search. Raises EndpointError for an answer that is incomplete, or none."""
        answer, size = self._client.post(_WHOLE, body), body["size"]
        result = answer.get("hits")
        records = result.get("hits") if isinstance(result, Mapping) else result
        hits = read_hits(records, size, self.address, scored=scored)
        check_complete(answer, len(hits), size, self.address)
        return hits
