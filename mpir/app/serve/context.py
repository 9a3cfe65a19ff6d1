"""The context of a request in the server, and the type of the work that answers it."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mpir.app.serve.dialects import dialect_of
from mpir.app.serve.responses import AsciiJSON
from mpir.app.serve.settings import ApiError


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
