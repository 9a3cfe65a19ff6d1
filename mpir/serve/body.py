"""From the bytes of a request to a JSON object, or a refusal that says what is wrong with them."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any, NoReturn

from starlette.requests import ClientDisconnect, Request

from mpir.serve.settings import Limits, Refusal


async def read_body(request: Request, limits: Limits) -> bytes:
    """The body, no more of it than `limits.body` and no longer than `limits.seconds`.

    Raises:
        Refusal: 413 or 408.
        ClientDisconnect: the client went away half-way.
    """
    declared = request.headers.get("content-length", "0")
    if declared.isascii() and declared.isdigit() and len(declared) < 20 and int(declared) > limits.body:
        raise _too_large(limits)
    try:
        async with asyncio.timeout(limits.seconds):
            return await _collect(request, limits)
    except TimeoutError:
        raise Refusal(408, f"the request did not arrive within {limits.seconds:g} s; send it again.") from None


async def _collect(request: Request, limits: Limits) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limits.body:
            raise _too_large(limits)
        parts.append(part)
    return b"".join(parts)


def _too_large(limits: Limits) -> Refusal:
    return Refusal(413, f"the request is larger than {limits.body} bytes; send fewer or shorter documents at a time.")


def parse_body(raw: bytes) -> dict[str, Any]:
    """The JSON object of a body. Raises Refusal (400) where it is none."""
    try:
        found = json.loads(raw.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise Refusal(400, f"byte {error.start} of the request is not UTF-8; encode the JSON as UTF-8.") from None
    except RecursionError:
        raise Refusal(400, "the request is nested too deeply; send a flat JSON object.") from None
    except ValueError as error:
        reason = str(error)[:120]
        raise Refusal(400, f"the request is not valid JSON ({reason}); send one JSON object.") from None
    if not isinstance(found, dict):
        raise Refusal(
            400, f"the request is a JSON {type(found).__name__}; expected an object with query and documents."
        )
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large a number")
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


__all__ = ["ClientDisconnect", "parse_body", "read_body"]
