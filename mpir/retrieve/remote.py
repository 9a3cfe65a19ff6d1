"""Search indexes on other machines through ``/search`` of their `mpir serve`, together with local indexes."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request

from mpir.errors import EndpointError, InputError, format_value, shortened
from mpir.io.hash import fingerprint
from mpir.io.http import checked_url, url_opener
from mpir.retrieve.base import Retriever, check_distinct
from mpir.text.types import Document
from mpir.types import F64
from mpir.validation import is_finite, whole_number

log = logging.getLogger(__name__)
KEY = "MPIR_API_KEY"
"""The environment variable with the servers' key; it is read for each request and stored nowhere."""
TIMEOUT = 60.0
"""Seconds to wait for an answer."""
LONGEST_ANSWER = 2**26
"""Maximum size of a response in bytes."""
BLOCK = 2**20
SCORING = ("bm25", "stop_words", "rm3", "question_words", "encoder")
"""Entries of an index's identity without which its scores cannot be compared with another's."""


def scoring_of(index: Retriever) -> dict[str, Any]:
    """Return the settings that an index's scores depend on, without its documents, as JSON-able values."""
    identity = dict(index.identity)
    identity = dict(identity["indexes"][0]) if "indexes" in identity else identity
    scoring = {name: identity[name] for name in SCORING if name in identity}
    return scoring | ({"encoder": fingerprint(scoring["encoder"])} if "encoder" in scoring else {})


class RemoteIndex:
    """An index that `mpir serve` searches on another machine, by BM25 or by vectors. Threads may share it."""

    def __init__(self, url: str, mode: str = "bm25", *, timeout: float = TIMEOUT) -> None:
        """Refer to a server by its address. Raises InputError for an invalid one."""
        self.url = checked_url(url, option="--index", key=KEY, example="http://host:8000")
        self.mode, self.timeout = mode, timeout

    def search(self, query: str, k: int) -> tuple[list[Document], dict[str, Any]]:
        """Return the k best documents with their scores, best first, and the settings of scores (see `scoring_of`).

        Raises:
            EndpointError: the server does not answer, refuses the request, or is not an `mpir serve` of this version.
        """
        body = {"query": query, "mode": self.mode, "k": k, "rerank": False}
        answer = self._post("search", body)
        try:
            documents = [_document(item) for item in answer["documents"]]
            return documents, dict(answer["index"])
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise self._error(
                f"returned {format_value(answer)} (expected documents with scores); give the address of an `mpir "
                "serve --index` of this version"
            ) from error

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        request = Request(f"{self.url}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
        if key := os.environ.get(KEY, "").strip():
            request.add_header("Authorization", f"Bearer {key}")
        try:
            with url_opener(self.url).open(request, timeout=self.timeout) as response:
                raw = self._read(response)
        except HTTPError as error:
            raise self._error(f"refused the search (HTTP {error.code}: {_reason(error)})") from None
        except (TimeoutError, URLError, OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise self._error(
                    f"no answer within {self.timeout:g} s; start the server, or correct the URL"
                ) from None
            text = shortened(str(getattr(reason, "strerror", None) or reason))
            raise self._error(f"cannot be reached ({text}); start the server, or correct the address") from None
        if len(raw) > LONGEST_ANSWER:
            raise self._error(f"the answer has more than {LONGEST_ANSWER} bytes; ask for fewer documents")
        try:
            return json.loads(raw)
        except (ValueError, RecursionError):
            raise self._error(
                f"returned {format_value(raw)} (expected JSON); give the address of an `mpir serve`"
            ) from None

    def _read(self, response: HTTPResponse) -> bytes:
        """Read a response of limited size. Raises TimeoutError if it takes too long as a whole."""
        deadline, raw = time.monotonic() + self.timeout, bytearray()
        while len(raw) <= LONGEST_ANSWER and (block := response.read1(BLOCK)):
            raw += block
            if time.monotonic() > deadline:
                raise TimeoutError
        return bytes(raw)

    def _error(self, problem: str) -> EndpointError:
        return EndpointError(f"{self.url}: {problem}.")


class IndexesTogether:
    """Local and remote indexes of different documents. Their best documents are merged by score.

    Cosines of one encoder are comparable wherever they are computed. BM25's scores depend on how frequent words are:
    local indexes share these statistics, but each server has its own, so results are nearly, not exactly, those of one
    index if documents were distributed at random, and may differ more otherwise.
    """

    def __init__(self, local: Retriever | None, remote: Sequence[RemoteIndex]) -> None:
        """Search these indexes. Raises InputError for a server that is named twice."""
        urls = [index.url for index in remote]
        if duplicates := sorted({url for url in urls if urls.count(url) > 1}):
            raise InputError(f"{duplicates[0]}: the server is given twice; name each index once.")
        self.local, self.remote, self.name = local, tuple(remote), remote[0].mode
        self._names = ", ".join((*(["the local indexes"] if local else []), *urls))
        self._scoring = None if local is None else scoring_of(local)
        self._pool = ThreadPoolExecutor(len(remote), "mpir-remote")
        if self.name == "bm25":
            log.warning("BM25 scores of %s use that server's own word frequencies.", " and ".join(urls))

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity of the local indexes, and the servers' addresses."""
        local = {} if self.local is None else dict(self.local.identity)
        return {**local, "remote": [index.url for index in self.remote]}

    def search(self, query: str, k: int = 100) -> list[Document]:
        """Return the k best documents of all indexes, best first, each with its score.

        Raises:
            EndpointError: as `RemoteIndex.search`.
            InputError: a document is in more than one index, or a server's scores cannot be compared with the others.
        """
        k = whole_number("k", k)
        answers = self._pool.map(lambda index: index.search(query, k), self.remote)
        documents = [] if self.local is None else list(self.local.search(query, k))
        for index, (hits, scoring) in zip(self.remote, answers, strict=True):
            self._check_scoring(index, scoring)
            documents += hits
        ordered = sorted(documents, key=lambda document: (-(document.score or 0.0), document.id))
        return check_distinct(ordered, self._names)[:k]

    def _check_scoring(self, index: RemoteIndex, scoring: Mapping[str, Any]) -> None:
        if self._scoring is None:
            self._scoring = dict(scoring)
        if scoring != self._scoring:
            raise InputError(
                f"{index.url}: its scores depend on {format_value(scoring)}, and those of the other indexes on "
                f"{format_value(self._scoring)}; search only indexes with the same settings together."
            )

    def search_batch(self, queries: Sequence[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
        """Return the results of `search` for every query, in their order."""
        return [self.search(query, k) for query in queries]

    def scores_of(self, query: str, ids: Sequence[str]) -> F64:
        """Raise InputError, because servers return scores only of documents that they retrieve."""
        raise InputError(f"{self._names}: servers score only the documents they retrieve; use --mode bm25 or dense.")

    def document(self, id: str) -> Document:
        """Return the document of an id in the local indexes. Raises InputError for one that they lack."""
        if self.local is None:
            raise InputError(f"document {format_value(id)}: servers give documents only as results of a search.")
        return self.local.document(id)

    def __len__(self) -> int:
        return 0 if self.local is None else len(self.local)

    def close(self) -> None:
        """Close the local indexes."""
        self._pool.shutdown(cancel_futures=True)
        if self.local is not None:
            self.local.close()


def _document(item: Mapping[str, Any]) -> Document:
    """Read a document of a response. Raises ValueError for a score that is not finite, or an invalid id."""
    score = float(item["score"])
    if not is_finite(score) or not isinstance(item["id"], str) or not item["id"].strip():
        raise ValueError(item["id"], score)
    texts = (str(item[name]) for name in ("id", "title", "abstract"))
    return Document(*texts, score=score)


def _reason(error: HTTPError) -> str:
    """Return the error message of a server, on one line."""
    try:
        answer = json.loads(error.read(LONGEST_ANSWER))
        text = answer["message"]
    except (OSError, ValueError, RecursionError, HTTPException, KeyError, TypeError):
        text = error.reason
    return shortened(str(text), 200)
