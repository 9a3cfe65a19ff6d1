"""Requests to PubMed and Europe PMC: rate limits, a cache, a deadline for a search, and errors in plain sentences."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from mpir.errors import InputError, MpirError, ServiceError
from mpir.files.http import Answer, PassingError, UnreachableError, exchange, repeat
from mpir.files.http_client import proxy_variables
from mpir.files.write import atomic_write
from mpir.search.pubmed.errors import DamagedAnswerError
from mpir.search.pubmed.settings import Settings

log = logging.getLogger(__name__)
KEPT_SECONDS = 24 * 60 * 60
KEPT_BYTES = 256 * 2**20
"""The most bytes of all kept answers together; beyond it, the oldest are deleted."""
_SUFFIX = ".answer"
Parsed = TypeVar("Parsed")
ATTEMPTS = 4
PATIENCE = 4
"""The longest time for an exchange, in time-outs, which an answer that trickles reaches."""
SEARCH = 40
"""The longest time for a whole search, in time-outs."""
LONG = 1500
"""Parameters of this many characters or more go into the body of a POST request."""
_PRIVATE = ("api_key", "email", "tool")
"""Parameters that don't change an answer."""
_next_turns: dict[str, float] = {}
"""When the next request to each host may be sent: all clients of this process share its rate."""
_turns_lock = threading.Lock()


def request_key(url: str, parameters: Mapping[str, str]) -> str:
    """The cache key of a request: a digest of its address and parameters, which reveals neither."""
    lines = [url, *(f"{name}={value}" for name, value in sorted(parameters.items()))]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


class KeptAnswers:
    """A folder of answers, each stored after its SHA-256; a damaged answer or one older than a day counts as absent.

    Where the folder cannot be written, a warning is logged once and nothing is kept.
    """

    def __init__(self, folder: Path | None, *, seconds: float = KEPT_SECONDS, limit: int = KEPT_BYTES) -> None:
        self._folder, self._seconds, self._limit = folder, seconds, limit

    def get(self, key: str) -> bytes | None:
        """The answer of a request, or None."""
        if self._folder is None:
            return None
        path = self._folder / f"{key}{_SUFFIX}"
        try:
            if not 0 <= time.time() - path.stat().st_mtime < self._seconds:
                return None
            content = path.read_bytes()
        except OSError:
            return None
        digest, answer = content[:32], content[32:]
        return answer if hashlib.sha256(answer).digest() == digest else None

    def keep(self, key: str, answer: bytes) -> None:
        """Keep an answer, and delete the oldest ones beyond the limit."""
        if self._folder is None or len(answer) > self._limit:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with atomic_write(self._folder / f"{key}{_SUFFIX}", binary=True) as stream:
                stream.write(hashlib.sha256(answer).digest() + answer)
            self._make_room()
        except (OSError, MpirError) as error:
            log.warning("%s: answers cannot be cached there (%s); going on without", self._folder, type(error).__name__)
            self._folder = None

    def _make_room(self) -> None:
        assert self._folder is not None
        files = []
        for path in self._folder.glob(f"*{_SUFFIX}"):
            with suppress(OSError):  # another process may delete it
                state = path.stat()
                files.append((state.st_mtime, state.st_size, path))
        size = sum(file_size for _, file_size, _ in files)
        for _, file_size, path in sorted(files):
            if size <= self._limit:
                break
            path.unlink(missing_ok=True)
            size -= file_size


def wait_for_turn(host: str, per_second: float) -> None:
    """Wait until the last request to a host is at least 1 / `per_second` seconds ago."""
    with _turns_lock:
        turn = max(_next_turns.get(host, 0.0), time.monotonic())
        _next_turns[host] = turn + 1 / per_second
    time.sleep(max(0.0, turn - time.monotonic()))


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
    """Sends the requests of one search, which ends by its deadline. Threads may share it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._answers = KeptAnswers(settings.cache)
        self._seconds = settings.seconds or SEARCH * settings.timeout
        self._deadline = time.monotonic() + self._seconds

    def ask(
        self,
        service: Service,
        path: str,
        parameters: Mapping[str, str],
        parse: Callable[[bytes], Parsed],
        *,
        is_complete: Callable[[Parsed], bool] = lambda _: True,
    ) -> Parsed:
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
        self, service: Service, url: str, parameters: Mapping[str, str], parse: Callable[[bytes], Parsed]
    ) -> tuple[bytes, Parsed]:
        def send() -> tuple[bytes, Parsed]:
            """Return the content of one answer, and what it says."""
            content = self._send(service, url, parameters)
            return content, parse(content)

        try:
            return repeat(send, attempts=ATTEMPTS, pause=self.settings.back_off, deadline=self._deadline)
        except UnreachableError as error:
            proxies = ", ".join(f"${name}" for name in proxy_variables())
            remedy = f" and the proxy in {proxies}" if proxies else ", or set a proxy in $HTTPS_PROXY"
            reason = f"cannot be reached ({error}); check the network{remedy}."
        except RefusedError as error:
            reason = f"{error} (status {error.status}, {error.attempts} attempts); {error.remedy}."
        except PassingError as error:
            reason = f"gave no usable answer in {error.attempts} attempts: {error}; try again later."
        raise ServiceError(service.label, reason)

    def _send(self, service: Service, url: str, parameters: Mapping[str, str]) -> bytes:
        """Send one request. Raises UnreachableError, PassingError, ServiceError, and InputError for a wrong key."""
        wait_for_turn(service.host, service.per_second)
        size = sum(len(name) + len(value) + 2 for name, value in parameters.items())
        is_long = service.takes_post and size > LONG
        request: dict[str, Any] = {"data": dict(parameters)} if is_long else {"params": dict(parameters)}
        seconds = min(PATIENCE * self.settings.timeout, self._deadline - time.monotonic())
        if seconds <= 0:
            raise ServiceError(service.label, f"did not end the search within {self._seconds:g} s; try again later.")
        answer = exchange("POST" if is_long else "GET", url, seconds=seconds, silence=self.settings.timeout, **request)
        if answer.status != 200:
            raise _refused(service, answer, has_key=bool(self.settings.key) and service.option == "pubmed.eutils")
        return answer.content


class RefusedError(PassingError):
    """A status that may pass; the message is a predicate, such as "failed"."""

    def __init__(self, message: str, status: int, remedy: str, wait: float) -> None:
        super().__init__(message, wait)
        self.status, self.remedy = status, remedy


def _refused(service: Service, answer: Answer, *, has_key: bool) -> Exception:
    status = answer.status
    if has_key and status in (400, 401, 403) and _names_key(answer.content):
        return InputError("$NCBI_API_KEY: NCBI does not know this key; correct it, or unset it to search without one.")
    if status == 429:
        hint = " or set $NCBI_API_KEY" if service.option == "pubmed.eutils" else ""
        return RefusedError("accepts no more requests for now", status, f"wait a minute{hint}", answer.wait)
    if answer.is_passing:
        return RefusedError("failed", status, "try again later", answer.wait)
    if 300 <= status < 400:
        reason = f"has moved (status {status}), and mpir does not follow redirects; correct {service.option}."
    else:
        reason = f"rejected the request (status {status}); check {service.option} and the query."
    return ServiceError(service.label, reason)


def _names_key(content: bytes) -> bool:
    """Whether an answer is NCBI's error about a key, and not a page that repeats the request."""
    try:
        error = json.loads(content)["error"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return False
    return isinstance(error, str) and "api key" in error.lower()
