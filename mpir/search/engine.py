"""A corpus in OpenSearch or Elasticsearch, searched there by words or vectors, through the engine's official client."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

import numpy as np
from tqdm import tqdm

from mpir.core.text.types import Document
from mpir.errors import EndpointError, InputError, format_value, shortened
from mpir.extras import needs
from mpir.search.base import ClosedAtExit
from mpir.search.dense.shards import Vectoriser, has_words
from mpir.types import F64
from mpir.validation import check_choice, whole_number

ENGINES, MODES = ("opensearch", "elasticsearch"), ("bm25", "dense")
MILVUS = "milvus"
USER, PASSWORD, KEY = "ENGINE_USER", "ENGINE_PASSWORD", "ENGINE_API_KEY"
"""Environment variables of the login: a name with a password, or a key."""
PAGE = 1000
"""Documents of one request."""
DEEPEST = 10_000
"""Documents that an engine returns for a query by default (`index.max_result_window`)."""
CANDIDATES = 10_000
"""Most candidates of each shard that Elasticsearch's k-NN compares."""


def is_engine(address: str | Path) -> bool:
    """Whether an index's name is an address in an engine, such as opensearch+https://localhost:9200/pubmed."""
    return str(address).partition("+")[0] in (*ENGINES, MILVUS) and "://" in str(address)


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
        timeout: float = 30.0,
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
            InputError: another address or mode, or no encoder for the mode dense.
            MissingExtraError: the engine's client is not installed.
            EndpointError: there is no such index, or it cannot be reached.
        """
        check_choice("mode", mode, MODES)
        if mode == "dense" and encoder is None:
            raise InputError(f"{address}: a search by vectors needs the encoder of the index's vectors; pass one.")
        self.address, self.name, self.encoder, self.fields = address, mode, encoder, fields or self.FIELDS
        self.engine, url, self.index = self._parts(address)
        self._client = self._connect(url, timeout)
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
            EndpointError: the engine cannot be reached, refuses the request, or takes too long.
        """
        k = whole_number("k", k, maximum=DEEPEST)
        if not has_words(query):
            return []
        body, hits = self._query(query, k), list[Any]()
        while len(hits) < k:
            page = self._hits({**body, "size": min(PAGE, k - len(hits)), "from": len(hits)})
            hits += page
            if len(page) < PAGE:
                break
        return [self._document(hit) for hit in hits]

    def search_batch(self, queries: Sequence[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
        """Return the results of `search` for every query, in their order."""
        return [self.search(query, k) for query in tqdm(queries, "Searching", unit=" queries", disable=not progress)]

    def scores_of(self, query: str, ids: Sequence[str]) -> F64:
        """Return the scores (N,) of documents by id; 0 for an unknown document, or one without a common word."""
        score_of: dict[str, float] = {}
        for begin in range(0, len(ids) if has_words(query) else 0, PAGE):
            chosen = list(ids[begin : begin + PAGE])
            body = self._query(query, len(chosen), {"ids": {"values": chosen}})
            score_of |= {str(hit["_id"]): float(hit["_score"]) for hit in self._hits({**body, "size": len(chosen)})}
        return np.array([score_of.get(name, 0.0) for name in ids], np.float64)

    def document(self, id: str) -> Document:
        """Return the stored document of an id, without a score. Raises InputError for an id that the index lacks."""
        hits = self._hits({"query": {"ids": {"values": [id]}}, "size": 1, "_source": list(self.fields[:2])})
        if not hits:
            raise InputError(f"{self.address}: holds no document with id {format_value(id)}; check the id.")
        return self._document({**hits[0], "_score": None})

    def __len__(self) -> int:
        with self._answering():
            return int(self._client.count(index=self.index)["count"])

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _parts(self, address: str) -> tuple[str, str, str]:
        """Return the engine, the URL of the server, and the index. Raises InputError for another form."""
        engine, _, url = address.partition("+")
        parts = urlsplit(url)
        index = parts.path.strip("/")
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname)
        if engine not in ENGINES or not is_url or not index or "/" in index:
            raise InputError(
                f"{format_value(address)} is no index in an engine; expected {' or '.join(ENGINES)}, as in "
                "opensearch+https://localhost:9200/pubmed."
            )
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return engine, urlunsplit((parts.scheme, f"{parts.hostname}:{port}", "", "", "")), index

    def _connect(self, url: str, timeout: float) -> Any:
        """Return the engine's client, with the login of the environment. Raises MissingExtraError without it."""
        user, password, key = (os.environ.get(name) for name in (USER, PASSWORD, KEY))
        with needs(self.engine, f"a search in {self.engine}"):
            if self.engine == "opensearch":
                from opensearchpy import OpenSearch

                login: dict[str, Any] = {"http_auth": (user, password)} if user else {}
                login |= {"headers": {"Authorization": f"ApiKey {key}"}} if key else {}
                return OpenSearch(url, timeout=timeout, max_retries=2, **login)
            from elasticsearch import Elasticsearch

            login = {"api_key": key} if key else {"basic_auth": (user, password)} if user else {}
            return Elasticsearch(url, request_timeout=timeout, max_retries=2, **login)

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

    def _hits(self, body: Mapping[str, Any]) -> list[Any]:
        with self._answering():
            answer = self._client.search(index=self.index, body=dict(body))
            if answer.get("timed_out"):
                raise EndpointError(f"{self.address}: the search took too long, so its results are incomplete.")
            return list(answer["hits"]["hits"])

    def _document(self, hit: Mapping[str, Any]) -> Document:
        source, score = hit.get("_source") or {}, hit["_score"]
        title, abstract = (str(source.get(name) or "") for name in self.fields[:2])
        scores = {} if score is None else {self.name: float(score)}
        return Document(str(hit["_id"]), title, abstract, score=scores.get(self.name), scores=scores)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Turn the client's errors into one sentence. Raises EndpointError."""
        try:
            yield
        except (EndpointError, InputError):
            raise
        except Exception as error:  # the two clients have hierarchies of their own
            raise EndpointError(f"{self.address}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return what the engine says, and a remedy."""
    status = getattr(error, "status_code", None) or getattr(getattr(error, "meta", None), "status", None)
    if "Timeout" in type(error).__name__:
        return "did not answer in time. Ask for fewer documents, or allow more seconds."
    if status in (401, 403):
        return f"refuses the login (status {status}). Set ${KEY}, or ${USER} and ${PASSWORD}."
    if status == 404:
        return "there is no such index. Check its name."
    if isinstance(status, int):
        return f"refuses the request (status {status}: {shortened(str(error))}). Check the fields."
    return f"cannot be reached ({shortened(str(error))}). Check the address."
