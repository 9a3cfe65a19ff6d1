"""Read the bytes of a request as a JSON object, or raise an error that says what is wrong."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
import zlib
from typing import Any, NoReturn

from starlette.requests import Request

from mpir.app.serve.settings import ApiError, Limits
from mpir.errors import format_value

START, PATIENCE = 2**16, 1.0
"""The most bytes and seconds to spend on a request that is refused unread."""


_JSON = re.compile(r"application/([a-z0-9!#$&^_.+-]+\+)?json\s*(;.*)?", re.IGNORECASE | re.DOTALL)


def check_media_type(request: Request) -> None:
    """Raise ApiError (415) for a body not declared as JSON, which pages of other sites could send."""
    if not _JSON.fullmatch(media_type := request.headers.get("content-type", "")):
        raise ApiError(
            415, f"the content type is {format_value(media_type)}; send the header Content-Type: application/json."
        )


def decoded(request: Request, raw: bytes, limits: Limits) -> bytes:
    """The body without its Content-Encoding, gzip or none. Raises ApiError (400, 413 or 415)."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding == "identity":
        return raw
    if encoding not in ("gzip", "x-gzip"):
        raise ApiError(415, f"the content encoding is {format_value(encoding)}; send the body plain, or with gzip.")
    reader = zlib.decompressobj(wbits=31)
    try:
        body = reader.decompress(raw, limits.body + 1)
    except zlib.error:
        raise ApiError(400, "the body is not gzip, as its Content-Encoding says; compress it again.") from None
    if len(body) > limits.body:
        raise _too_large(limits)
    if not reader.eof or reader.unused_data:
        raise ApiError(400, "the compressed body is incomplete, or more follows it; compress it again.")
    return body


class Arriving:
    """The body of a request as it arrives; `seen` is the part received so far."""

    def __init__(self, request: Request) -> None:
        self._request, self.seen = request, b""

    async def read(self, limits: Limits) -> bytes:
        """Read the body, within `limits.body` bytes and `limits.seconds`.

        Raises:
            ApiError: 413 or 408.
            ClientDisconnect: the client disconnected.
        """
        declared = self._request.headers.get("content-length", "0")
        if declared.isascii() and declared.isdigit() and len(declared) < 20 and int(declared) > limits.body:
            await self.start()
            raise _too_large(limits)
        try:
            async with asyncio.timeout(limits.seconds):
                await self._collect(limits.body + 1)
        except TimeoutError:
            raise ApiError(408, f"the request did not arrive within {limits.seconds:g} s; send it again.") from None
        if len(self.seen) > limits.body:
            raise _too_large(limits)
        return self.seen

    async def start(self) -> None:
        """Read enough of a body that will be refused to know the form in which its client expects the error."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._collect(START)

    async def _collect(self, enough: int) -> None:
        body = bytearray()  # a list of pieces would take fifty times the size for a body sent in single bytes
        try:
            async for piece in self._request.stream():
                body += piece
                if len(body) >= enough:
                    return
        finally:
            self.seen = bytes(body)


def _too_large(limits: Limits) -> ApiError:
    return ApiError(413, f"the request is larger than {limits.body} bytes; send fewer or shorter documents at a time.")


def parse_body(raw: bytes) -> dict[str, Any]:
    """The JSON object of a body. Raises ApiError (400) for anything else."""
    try:
        body = json.loads(
            raw.decode("utf-8"), parse_constant=_no_number, parse_float=_finite, object_pairs_hook=_unique
        )
    except UnicodeDecodeError as error:
        raise ApiError(400, f"byte {error.start} of the request is not UTF-8; encode the JSON as UTF-8.") from None
    except RecursionError:
        raise ApiError(400, "the request is nested too deeply; send a flat JSON object.") from None
    except ValueError as error:
        reason = str(error)[:120]
        raise ApiError(400, f"the request is not valid JSON ({reason}); send one JSON object.") from None
    if not isinstance(body, dict):
        raise ApiError(
            400, f"the request is a JSON {type(body).__name__}; expected an object with query and documents."
        )
    return body


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{max(names, key=names.count)[:20]!r} is named twice in one object")
    return values


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large a number")
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
