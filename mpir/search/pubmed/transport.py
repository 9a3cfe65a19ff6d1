"""HTTP requests with rate limits, time-outs, bounded answers, retries, and errors in plain sentences."""

from __future__ import annotations

import logging
import os
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from mpir.errors import InputError
from mpir.search.pubmed.errors import DamagedAnswerError, RefusedError, ServiceError
from mpir.search.pubmed.kept_answers import KeptAnswers, request_key
from mpir.search.pubmed.pace import pace_of
from mpir.search.pubmed.settings import Settings
from mpir.version import __version__

if TYPE_CHECKING:
    import httpx

Answer = TypeVar("Answer")
ATTEMPTS = 4
LARGEST = 64 * 2**20
"""The most bytes of a decompressed answer; 200 records with abstracts take some 2 MiB."""
LONGEST_WAIT = 30.0
"""The longest Retry-After, in seconds, that is honoured."""
PATIENCE = 4
"""The longest time for a whole answer, in time-outs, so that a slow trickle ends, too."""
LONG = 1500
"""Parameters of this many characters or more go into the body of a POST request."""
_PRIVATE = ("api_key", "email", "tool")
"""Parameters that don't change an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service: its `name` for messages, its address, the option that sets it, and its allowed requests per second.

    `takes_post` says whether long parameters may go into the body of a POST request.
    """

    name: str
    url: str
    option: str
    per_second: float
    takes_post: bool = False

    @property
    def host(self) -> str:
        """Its host and port."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def label(self) -> str:
        """Its name with the host, for messages."""
        return f"{self.name} ({self.host})"


class Client:
    """Sends requests for one search. Use it in a ``with`` block; threads may share it."""

    def __init__(self, settings: Settings) -> None:
        """Raises InputError for an unusable proxy in the environment."""
        self.settings = settings
        self._answers = KeptAnswers(settings.cache)
        self._client = _make_client(settings.timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def ask(
        self,
        service: Service,
        path: str,
        parameters: Mapping[str, str],
        parse: Callable[[bytes], Answer],
        *,
        is_complete: Callable[[Answer], bool] = lambda _: True,
    ) -> Answer:
        """The parsed answer to a request, cached or new; if `parse` raises DamagedAnswerError, the request is repeated.

        An answer that is not `is_complete` is returned but not cached.

        Raises:
            ServiceError: no usable answer after all attempts.
            InputError: NCBI rejects the key.
        """
        url = f"{service.url.rstrip('/')}/{path}"
        key = request_key(url, {name: value for name, value in parameters.items() if name not in _PRIVATE})
        content = None if self.settings.refresh else self._answers.get(key)
        if content is not None:
            try:
                return parse(content)
            except DamagedAnswerError:  # cached by another version
                pass
        content, answer = self._answered(service, url, parameters, parse)
        if is_complete(answer):
            self._answers.keep(key, content)
        return answer

    def _answered(
        self, service: Service, url: str, parameters: Mapping[str, str], parse: Callable[[bytes], Answer]
    ) -> tuple[bytes, Answer]:
        import httpx

        for attempt in range(1, ATTEMPTS + 1):
            pace_of(service.host).wait(service.per_second)
            pause = self.settings.back_off * 2 ** (attempt - 1)
            try:
                content = self._send(service, url, parameters)
                return content, parse(content)
            except (httpx.HTTPError, DamagedAnswerError) as error:
                if attempt == ATTEMPTS or (attempt > 1 and isinstance(error, httpx.ConnectError)):
                    raise ServiceError(service.label, _reason(error, self.settings.timeout)) from None
            except RefusedError as error:
                _check_key(error)
                if attempt == ATTEMPTS or not error.is_passing:
                    raise ServiceError(service.label, _refused(service, error)) from None
                pause = max(pause, min(error.wait or 0.0, LONGEST_WAIT))
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _send(self, service: Service, url: str, parameters: Mapping[str, str]) -> bytes:
        """Send one request. Raises RefusedError, DamagedAnswerError for too long an answer, and httpx's errors."""
        size = sum(len(name) + len(value) + 2 for name, value in parameters.items())
        is_long = service.takes_post and size > LONG
        how: dict[str, Any] = {"data": dict(parameters)} if is_long else {"params": dict(parameters)}
        deadline = time.monotonic() + PATIENCE * self.settings.timeout
        with self._client.stream("POST" if is_long else "GET", url, **how) as response:
            content = b"".join(_bounded(response.iter_bytes(), deadline))
        if response.status_code != 200:
            raise RefusedError(response.status_code, content[:1000].decode("utf-8", "replace"), _wait(response))
        return content


def _bounded(chunks: Iterator[bytes], deadline: float) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > LARGEST:
            raise DamagedAnswerError(f"it has more than {LARGEST:,} bytes")
        if time.monotonic() > deadline:
            raise DamagedAnswerError("it arrives too slowly")
        yield chunk


def _wait(response: httpx.Response) -> float | None:
    """The seconds of a Retry-After; a date is ignored, because the doubling pause suffices."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 9 else None


def _make_client(timeout: float) -> httpx.Client:
    import httpx

    _hide_queries()
    headers = {"User-Agent": f"mpir/{__version__}"}
    certificates = _certificates()
    with _naming_proxy():
        return httpx.Client(timeout=timeout, headers=headers, follow_redirects=False, verify=certificates)


@cache
def _certificates() -> ssl.SSLContext:
    """The trusted certificates, loaded once because loading takes longer than many requests."""
    import httpx

    try:
        return httpx.create_ssl_context()
    except OSError as error:  # the environment's path is missing, or has no certificate
        reason = "it contains none" if isinstance(error, ssl.SSLError) else error.strerror
        raise InputError(
            f"$SSL_CERT_FILE or $SSL_CERT_DIR: no certificate can be read ({reason}); correct it."
        ) from None


@contextmanager
def _naming_proxy() -> Iterator[None]:
    """Wrap code that reads proxies from the environment. Raises InputError for an invalid one."""
    try:
        yield
    except (ValueError, ImportError, TypeError) as error:
        reason = "needs the package socksio" if isinstance(error, ImportError) else "is no http:// or https:// address"
        names = ", ".join(f"${name}" for name in _proxy_variables()) or "the proxy"
        raise InputError(f"{names}: a proxy from the environment {reason}; correct or unset it.") from None


def _proxy_variables() -> list[str]:
    names = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
    return [form for name in names for form in (name, name.lower()) if os.environ.get(form)]


class _WithoutQueries(logging.Filter):
    """Removes everything after the "?" from the URLs that httpx logs, to keep queries out of logs."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record; see `logging.Filter.filter`."""
        import httpx

        if isinstance(record.args, tuple):
            record.args = tuple(
                argument.copy_with(query=None) if isinstance(argument, httpx.URL) else argument
                for argument in record.args
            )
        return True


_without_queries = _WithoutQueries()


def _hide_queries() -> None:
    logging.getLogger("httpx").addFilter(_without_queries)  # once: a logger holds a filter only once


def _check_key(error: RefusedError) -> None:
    text = error.text.lower()
    if error.status in (400, 401, 403) and "api" in text and "key" in text:
        raise InputError("$NCBI_API_KEY: NCBI does not know this key; correct it, or unset it to search without one.")


def _refused(service: Service, error: RefusedError) -> str:
    if error.status == 429:
        hint = " or set $NCBI_API_KEY" if service.option == "--eutils" else ""
        return f"accepts no more requests for now (status 429, {ATTEMPTS} attempts); wait a minute{hint}."
    if error.status >= 500:
        return f"failed (status {error.status}, {ATTEMPTS} attempts); try again later."
    if 300 <= error.status < 400:
        return f"has moved (status {error.status}), and mpir does not follow redirects; correct {service.option}."
    return f"rejected the request (status {error.status}); check {service.option} and the query."


def _reason(error: Exception, timeout: float) -> str:
    import httpx

    if isinstance(error, DamagedAnswerError):
        return f"gave no usable answer in {ATTEMPTS} attempts: {error}; try again later."
    if isinstance(error, httpx.ProxyError | httpx.ConnectError | httpx.ConnectTimeout):
        proxies = ", ".join(f"${name}" for name in _proxy_variables())
        remedy = f" and the proxy in {proxies}" if proxies else ", or set a proxy in $HTTPS_PROXY"
        return f"cannot be reached{_cause(error)}; check the network{remedy}."
    if isinstance(error, httpx.TimeoutException):
        return f"did not answer within {timeout:g} s in {ATTEMPTS} attempts; try again later."
    return f"closed the connection before the answer was complete, {ATTEMPTS} times; try again later."


def _cause(error: BaseException) -> str:
    """The system's message, in brackets; a library's own message might contain anything."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return f" ({cause.strerror})"
        cause = cause.__cause__ or cause.__context__
    return ""
