"""A corpus in Milvus, on servers or in a file of milvus-lite, searched there by words or vectors through its client."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mpir.core.text.types import Document
from mpir.errors import EndpointError, InputError, format_value
from mpir.extras import needs
from mpir.search.dense.shards import has_words
from mpir.search.engine import DEEPEST, KEY, MILVUS, PAGE, PASSWORD, USER, EngineIndex
from mpir.types import F64
from mpir.validation import whole_number

_FILE = "file://"


class MilvusIndex(EngineIndex):
    """A collection with fields for title, abstract, the BM25 function's output for the mode bm25, and vector for dense.

    Its address is one such as ``milvus+https://localhost:19530/pubmed`` or, for a file of milvus-lite,
    ``milvus+file://FILE/COLLECTION``. The primary key is the document's id, as text. Scores are Milvus's: BM25, or the
    metric of the vectors' index, which must rank the highest first (cosine or inner product). Threads may share it.
    """

    FIELDS = ("title", "abstract", "words", "vector")
    """The fields' names for title, abstract, words and vector, unless others are given."""

    def _check_index(self) -> None:
        super()._check_index()
        if (
            _FILE in self.address
        ):  # milvus-lite scores records that are not flushed by statistics of those in the filter
            with self._answering():
                self._client.flush(self.index)

    def search(self, query: str, k: int = 100) -> list[Document]:
        """Return the k best documents, best first; see `EngineIndex.search`."""
        k = whole_number("k", k, maximum=DEEPEST)
        return [self._document(hit) for hit in self._best(query, k)] if has_words(query) else []

    def scores_of(self, query: str, ids: Sequence[str]) -> F64:
        """Return the scores (N,) of documents by id; 0 for an unknown document, or one without a common word."""
        score_of: dict[str, float] = {}
        for begin in range(0, len(ids) if has_words(query) else 0, PAGE):
            chosen = list(ids[begin : begin + PAGE])
            names = f"id in {json.dumps(chosen, ensure_ascii=False)}"
            score_of |= {str(hit["_id"]): hit["_score"] for hit in self._best(query, len(chosen), filter=names)}
        return np.array([score_of.get(name, 0.0) for name in ids], np.float64)

    def document(self, id: str) -> Document:
        """Return the stored document of an id, without a score. Raises InputError for an id that the index lacks."""
        with self._answering():
            records = self._client.get(self.index, ids=[id], output_fields=list(self.fields[:2]))
        if not records:
            raise InputError(f"{self.address}: holds no document with id {format_value(id)}; check the id.")
        return self._document({"_id": id, "_score": None, "_source": records[0]})

    def __len__(self) -> int:
        with self._answering():
            if not self._client.has_collection(self.index):
                raise EndpointError(f"{self.address}: there is no such collection. Check its name.")
            self._client.load_collection(self.index)
            return int(self._client.query(self.index, filter="", output_fields=["count(*)"])[0]["count(*)"])

    def _best(self, query: str, k: int, **options: Any) -> list[dict[str, Any]]:
        """Return the k best records in the form of the other engines."""
        title, abstract, words, vector = self.fields
        data, field = (query, words) if self.name == "bm25" else (self._vector(query), vector)
        options |= {"anns_field": field, "limit": k, "output_fields": [title, abstract]}
        with self._answering():
            (hits,) = self._client.search(self.index, [data], **options)
            return [
                {"_id": hit["id"], "_score": self._score(hit["distance"]), "_source": hit["entity"]} for hit in hits
            ]

    def _score(self, distance: float) -> float:
        return abs(distance) if self.name == "bm25" else distance  # milvus-lite negates BM25

    def _parts(self, address: str) -> tuple[str, str, str]:
        """Return the engine, the URL or file, and the collection. Raises InputError for another form."""
        engine, _, url = address.partition("+")
        server, _, index = url.rpartition("/")
        if engine != MILVUS or not index or not server.startswith(("http://", "https://", _FILE)):
            raise InputError(
                f"{format_value(address)} is no collection in Milvus; expected milvus+https://localhost:19530/pubmed "
                "or milvus+file://pubmed.db/pubmed."
            )
        if server.startswith(_FILE) and not Path(server.removeprefix(_FILE)).exists():
            raise InputError(f"{server.removeprefix(_FILE)}: no such file; check the address {format_value(address)}.")
        return engine, server.removeprefix(_FILE), index

    def _connect(self, url: str, timeout: float) -> Any:
        user, password, key = (os.environ.get(name) for name in (USER, PASSWORD, KEY))
        with needs(MILVUS, "a search in Milvus"), _unchanged_environment():
            from pymilvus import MilvusClient
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs every error that it raises, with a traceback
        with self._answering():
            return MilvusClient(url, token=key or (f"{user}:{password}" if user else ""), timeout=timeout)


@contextmanager
def _unchanged_environment() -> Iterator[None]:
    """Keep the environment as it is: pymilvus reads a file `.env`, which may be the working folder's, into it."""
    before = dict(os.environ)
    os.environ["PYTHON_DOTENV_DISABLED"] = "true"
    try:
        yield
    finally:
        for name in {*os.environ} - {*before}:
            del os.environ[name]
        os.environ.update(before)
