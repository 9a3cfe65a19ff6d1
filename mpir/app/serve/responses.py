"""Requests and their JSON responses, with errors in the form that a request's clients expect."""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from starlette.requests import Request
from starlette.responses import Response

from mpir.app.serve.dialects import dialect_of
from mpir.app.serve.requests import SearchBody
from mpir.app.serve.settings import ApiError
from mpir.core.results import relevance_score
from mpir.core.text import Document
from mpir.integrations.common import details
from mpir.reranking.ranking import Ranking


class AsciiJSON(Response):
    """JSON in ASCII, so that unpaired surrogates in a text can be sent back."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode a value."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def error_response(path: str, error: ApiError) -> Response:
    """An error for a request whose body has not been read, in the dialect that its path suggests."""
    return AsciiJSON(dialect_of(path, ()).error(uuid.uuid4().hex, error), error.status, error.headers)


class RequestContext:
    """One request: its id, its dialect once known, and sizes for the log."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.id = uuid.uuid4().hex
        self.dialect = dialect_of(request.url.path, {})
        self.sizes: dict[str, int] = {}

    def error_response(self, api_error: ApiError) -> Response:
        """The error in the dialect's form."""
        return AsciiJSON(self.dialect.error(self.id, api_error), api_error.status, api_error.headers)


Work = Callable[[RequestContext, Mapping[str, Any]], Awaitable[Any]]
"""A function that answers a request, given as a JSON object, with a JSON-able value."""


@runtime_checkable
class SearchReport(Protocol):
    """What a search on the network knows besides its documents."""

    def to_dict(self) -> dict[str, Any]:
        """The queries and warnings as plain values."""


def searches_of(result: Sequence[Document]) -> dict[str, Any]:
    """The queries sent and the warnings, if the first stage used services on the network."""
    return result.to_dict() if isinstance(result, SearchReport) else {}


def search_answer(identity: str, request: SearchBody, ranking: Ranking) -> dict[str, Any]:
    """The best documents, best first."""
    results = [
        {
            "rank": rank,
            "relevance_score": relevance_score(document),
            "text": document.text,
            **details(document, request.sentences, query=ranking.query),
        }
        for rank, document in enumerate(ranking.by_relevance().documents[: request.top_n], 1)
    ]
    counts = {"candidates": ranking.candidates, "unread": ranking.unread}
    return {"id": identity, "query": request.query, **counts, "results": results}
