"""JSON responses, and errors in the form that a path's clients expect."""

from __future__ import annotations

import json
import uuid
from typing import Any

from starlette.responses import Response

from mpir.app.serve.dialects import dialect_of
from mpir.app.serve.settings import ApiError


class AsciiJSON(Response):
    """JSON in ASCII, so that unpaired surrogates in a text can be sent back."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode a value."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def error_response(path: str, error: ApiError) -> Response:
    """An error for a request whose body has not been read, in the dialect that its path suggests."""
    return AsciiJSON(dialect_of(path, ()).error(uuid.uuid4().hex, error), error.status, error.headers)
