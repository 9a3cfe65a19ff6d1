"""HTTP exchanges: each has one deadline, a bounded answer and no redirect, and may be repeated after a failure."""

from __future__ import annotations

import asyncio
import math
import os
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from mpir.errors import InputError, format_value, shortened
from mpir.files.http_client import client_for

Result = TypeVar("Result")
MAX_ANSWER_BYTES = 64 * 2**20
"""The most bytes of an answer, decompressed."""
ENCODINGS = ("gzip", "x-gzip")
"""Compression of answers that is read; a server is asked for the first."""
LONGEST_WAIT = 30.0
"""The longest pause, in seconds, before a request is repeated, also where a server asks for more."""
_LOGIN = re.compile(r"//.*@", re.DOTALL)


class UnreachableError(Exception):
    """No connection to a server; the message is the system's reason."""


class PassingError(Exception):
    """A failure that a repetition may mend.

    `wait` is the pause in seconds that the server asks for, and `attempts` counts the requests so far.
    """

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait, self.attempts = wait, 1


class LateError(PassingError):
    """No answer, or not its end, in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A server's answer, with its headers by lower-case name."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in (408, 425, 429) or (self.status >= 500 and self.status != 501)

    @property
    def wait(self) -> float:
        """The seconds of a Retry-After; 0 without one, and for a date."""
        text = self.headers.get("retry-after", "")
        return float(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0.0


def checked_url(url: Any, *, option: str, key: str, example: str) -> str:
    """Return a URL without a trailing slash; `key` is the environment variable of the key that is sent there.

    Raises:
        InputError: an invalid URL, or one with a user, query or fragment.
    """
    try:
        address = urlsplit(url)
        valid = (
            address.scheme in ("http", "https")
            and bool(address.hostname)
            and (address.port is None or address.port > 0)
        )
    except (AttributeError, TypeError, ValueError):
        valid = False
    if not valid or not url.isprintable() or any(character.isspace() for character in url):
        shown = format_value(without_login(url) if isinstance(url, str) else url)
        raise InputError(f"{option}: invalid URL {shown} (expected one such as {example}).")
    if "@" in address.netloc or "?" in url or "#" in url:
        raise InputError(f"{option}: the URL has a user, query or fragment. Remove it, and put a key into ${key}.")
    return str(url).rstrip("/")


def without_login(url: str) -> str:
    """Return an address for a message, with ``***`` in place of a user and password in it."""
    return _LOGIN.sub("//***@", url)


def exchange(method: str, url: str, *, seconds: float, silence: float | None = None, **request: Any) -> Answer:
    """Send a request and return the whole answer, whatever its status.

    Args:
        method: such as GET.
        url: the address.
        seconds: the time for everything from the connection to the answer's last byte.
        silence: the time without a byte (default: `seconds`).
        request: further arguments of `httpx.AsyncClient.stream`.

    Raises:
        UnreachableError: no connection.
        PassingError: the answer is late (LateError), breaks off, or is larger than MAX_ANSWER_BYTES.
        InputError: an unusable proxy in the environment.
    """
    import httpx

    client, loop = client_for(url)
    timeout = min(seconds, silence or seconds)
    future = asyncio.run_coroutine_threadsafe(_answer(client.stream(method, url, timeout=timeout, **request)), loop)
    try:
        return future.result(max(seconds, 0))
    except TimeoutError:
        raise LateError(f"no answer within {seconds:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _failure(error, timeout) from None
    finally:
        future.cancel()


async def _answer(stream: Any) -> Answer:
    async with stream as response:
        content = _Content(response.headers.get("content-encoding", "identity"))
        async for chunk in response.aiter_raw():
            content.add(chunk)
    return Answer(status=response.status_code, headers=response.headers, content=content.finish())


class _Content:
    """The bytes of an answer, expanded within bounds; a library would expand a whole chunk, and several times."""

    def __init__(self, encoding: str) -> None:
        """Read one of ENCODINGS. Raises PassingError for another, which was not asked for."""
        name = encoding.strip().lower()
        if name not in (*ENCODINGS, "identity", ""):
            raise PassingError(f"an answer in the encoding {format_value(encoding)} (expected {ENCODINGS[0]})")
        self._content = bytearray()
        self._decoder = zlib.decompressobj(16 + zlib.MAX_WBITS) if name in ENCODINGS else None

    def add(self, chunk: bytes) -> None:
        """Add bytes as they arrive. Raises PassingError for damaged data, or more than MAX_ANSWER_BYTES bytes."""
        if self._decoder is not None:
            try:
                chunk = self._decoder.decompress(chunk, MAX_ANSWER_BYTES + 1 - len(self._content))
            except zlib.error:
                raise PassingError("an answer of damaged gzip data") from None
        self._content += chunk
        if len(self._content) > MAX_ANSWER_BYTES:
            raise PassingError(f"an answer of more than {MAX_ANSWER_BYTES:,} bytes")

    def finish(self) -> bytes:
        """Return all bytes. Raises PassingError if the compressed data has no end."""
        if self._decoder is not None and self._content and not self._decoder.eof:
            raise PassingError("an answer of truncated gzip data")
        return bytes(self._content)


def _failure(error: Exception, timeout: float) -> UnreachableError | PassingError:
    import httpx

    if isinstance(error, httpx.ProxyError | httpx.ConnectError | httpx.ConnectTimeout | httpx.InvalidURL):
        return UnreachableError(_cause(error))
    if isinstance(error, httpx.TimeoutException):
        return LateError(f"no answer within {timeout:g} s")
    return PassingError(f"the connection broke ({type(error).__name__})")


def _cause(error: BaseException) -> str:
    """Return the system's reason; a library's own message might contain anything."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror | ssl.SSLError):
            return shortened(str(cause.strerror))
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno)
        cause = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause.__cause__ or cause.__context__
    return type(error).__name__


def repeat(
    send: Callable[[], Result],
    *,
    attempts: int,
    pause: float,
    deadline: float = math.inf,
    stopped: threading.Event | None = None,
) -> Result:
    """Return `send()`, called again after a PassingError; `pause` is the first one in seconds, and doubles each time.

    Raises:
        PassingError: the last one, after `attempts`, where a pause would pass the `deadline`, or once `stopped` is set.
    """
    for attempt in range(1, attempts + 1):
        try:
            return send()
        except PassingError as error:
            error.attempts = attempt
            seconds = min(max(error.wait, pause * 2 ** (attempt - 1)), LONGEST_WAIT)
            if attempt == attempts or time.monotonic() + seconds > deadline:
                raise
            if (stopped or threading.Event()).wait(seconds):
                raise
    raise AssertionError("the last attempt returns or raises")
