"""JSON responses, and errors in the form that the path's clients read."""

from __future__ import annotations

import json
import uuid
from typing import Any

from starlette.responses import Response

from mpir.serve.dialects import dialect_of
from mpir.serve.settings import ApiError


class AsciiJSON(Response):
    """JSON in ASCII, so that half a surrogate pair in a text can be sent back."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of a value."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def error_response(path: str, error: ApiError) -> Response:
    """An error of a request whose body has not been read: its path alone tells the dialect."""
    return AsciiJSON(dialect_of(path, ()).error(uuid.uuid4().hex, error), error.status, error.headers)
