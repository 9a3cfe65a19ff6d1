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
from mpir.errors import EndpointError, InputError, MpirError, format_value, shortened
from mpir.extras import needs
from mpir.files.http import MAX_ANSWER_BYTES
from mpir.search.base import has_words
from mpir.search.engines.client import check_address, login
from mpir.search.engines.hits import Hit, read_hits
from mpir.search.engines.index import DEEPEST, PAGE, EngineIndex
from mpir.types import F64
from mpir.validation import whole_number

MILVUS, _FILE = "milvus", "file://"


class MilvusIndex(EngineIndex):
    """A collection with fields for title, abstract, the BM25 function's output for the mode bm25, and vector for dense.

    Its address is one such as ``milvus+https://localhost:19530/pubmed`` or, for a file of milvus-lite,
    ``milvus+file://FILE/COLLECTION``. The primary key is the document's id, a text or number. Scores are Milvus's:
    BM25, or the metric of the vectors' index, which must rank the highest first (cosine or inner product). Threads may
    share it.
    """

    FIELDS = ("title", "abstract", "words", "vector")
    """The fields' names for title, abstract, words and vector, unless others are given."""

    def _check_index(self) -> None:
        super()._check_index()
        with self._answering():
            fields = self._client.describe_collection(self.index, timeout=self.timeout)["fields"]
            (key,) = [field for field in fields if field.get("is_primary")]
            self._key, self._has_numbers = str(key["name"]), key["type"].name.startswith("INT")
        if (
            _FILE in self.address
        ):  # milvus-lite scores records that are not flushed by statistics of those in the filter
            with self._answering():
                self._client.flush(self.index, timeout=self.timeout)

    def search(self, query: str, k: int = 100) -> list[Document]:
        """Return the k best documents, best first; see `EngineIndex.search`."""
        k, query = whole_number("k", k, maximum=DEEPEST), self._read(query)
        return self._documents(self._best(query, k)) if has_words(query) else []

    def scores_of(self, query: str, ids: Sequence[str]) -> F64:
        """Return the scores (N,) of documents by id; 0 for an unknown document, or one without a common word."""
        query = self._read(query)
        score_of: dict[str, float | None] = {}
        for begin in range(0, len(ids) if has_words(query) else 0, PAGE):
            chosen = list(ids[begin : begin + PAGE])
            hits = self._best(query, len(chosen), filter=self._among(chosen))
            score_of |= {hit.id: hit.score for hit in self._of(chosen, hits)}
        return np.array([score_of.get(name, 0.0) for name in ids], np.float64)

    def _stored(self, ids: Sequence[str]) -> list[Hit]:
        with self._answering():
            # The client's own get() puts ids between quotes as they are, so that one with a quote is a filter.
            names = [self._key, *self.fields[:2]]
            records = self._client.query(self.index, filter=self._among(ids), output_fields=names, timeout=self.timeout)
            stored = [{"_id": record[self._key], "_source": record} for record in records]
        return self._of(ids, read_hits(stored, len(ids), self.address, scored=False))

    def _among(self, ids: Sequence[str]) -> str:
        """Return the filter for these ids, as numbers where the primary key is one."""
        numbers = [int(name) for name in ids if name.isascii() and name.isdigit() and len(name) < 19]
        return f"{self._key} in {json.dumps(numbers if self._has_numbers else list(ids), ensure_ascii=False)}"

    def __len__(self) -> int:
        with self._answering():
            if not self._client.has_collection(self.index, timeout=self.timeout):
                raise EndpointError(f"{self.address}: there is no such collection. Check its name.")
            self._client.load_collection(self.index, timeout=self.timeout)
            count = {"filter": "", "output_fields": ["count(*)"], "timeout": self.timeout}
            counted = self._client.query(self.index, **count)[0]["count(*)"]
        return self._count(counted)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _best(self, query: str, k: int, **options: Any) -> list[Hit]:
        """Return the k best records."""
        title, abstract, words, vector = self.fields
        data, field = (query, words) if self.name == "bm25" else (self._vector(query), vector)
        options |= {"anns_field": field, "limit": k, "output_fields": [title, abstract], "timeout": self.timeout}
        with self._answering():
            (hits,) = self._client.search(self.index, [data], **options)
            records = [
                {"_id": hit[self._key], "_score": self._score(hit["distance"]), "_source": dict(hit["entity"])}
                for hit in hits
            ]
        return read_hits(records, k, self.address)

    def _score(self, distance: float) -> float:
        return abs(distance) if self.name == "bm25" else distance  # milvus-lite negates BM25

    def _parts(self, address: str) -> tuple[str, str, str]:
        """Return the engine, the URL or file, and the collection. Raises InputError for another form."""
        engine, _, url = str(address).partition("+")
        server, _, index = url.rpartition("/")
        if engine == MILVUS and index and server.startswith(_FILE):
            path = server.removeprefix(_FILE)
            if not Path(path).exists():
                raise InputError(f"{path}: no such file; check the address {format_value(address)}.")
            return engine, path, index
        expected = (
            "collection in Milvus; expected milvus+https://localhost:19530/pubmed or milvus+file://pubmed.db/pubmed."
        )
        return engine, check_address(address, server if engine == MILVUS else "", index, expected), index

    def _connect(self, url: str) -> Any:
        """Return Milvus's client, with the login of the environment. Raises MissingExtraError without it."""
        user, password, key = login()
        with needs(MILVUS, "a search in Milvus"), _unchanged_environment():
            from pymilvus import MilvusClient
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs every error that it raises, with a traceback
        options = {"grpc_options": {"grpc.max_receive_message_length": MAX_ANSWER_BYTES}}
        with self._answering():
            token = key or (f"{user}:{password}" if user else "")
            return MilvusClient(url, token=token, timeout=self.timeout, **options)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Turn the client's errors, and those about an answer of another form, into a sentence.

        Raises:
            EndpointError: that sentence.
        """
        try:
            yield
        except MpirError:
            raise
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise EndpointError(
                f"{self.address}: the answer has another form ({type(error).__name__}). Check that it is Milvus, and "
                "its version."
            ) from error
        except Exception as error:  # the client has many, some of them of gRPC
            raise EndpointError(f"{self.address}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return what Milvus says, and a remedy."""
    text = str(getattr(error, "message", error))
    if "DEADLINE_EXCEEDED" in text or "imeout" in type(error).__name__:
        return "did not answer in time. Ask for fewer documents, or allow more seconds."
    if "RESOURCE_EXHAUSTED" in text:
        return f"sends an answer of more than {MAX_ANSWER_BYTES:,} bytes. Ask for fewer documents."
    return f"cannot be reached, or refuses ({shortened(text)}). Check the address and the fields."


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
