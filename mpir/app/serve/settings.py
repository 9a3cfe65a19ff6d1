"""A server's limits and settings, and the errors that it answers with."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a server. `waiting` and `batch` count tokens, estimated from text lengths."""

    documents: int = 1_000
    document: int = 250_000
    """Characters in one document."""
    sentences: int = 50_000
    """Sentences in all documents of a request together."""
    query: int = 10_000
    """Characters in the query."""
    body: int = 16 * 2**20
    """Bytes in a request."""
    waiting: int = 2_000_000
    searches: int = 64
    """Searches of an index, waiting or running."""
    batch: int = 100_000
    connections: int = 1_000
    """Connections open at the same time."""
    seconds: float = 60.0
    """Seconds for reading a request, and again for answering it."""


LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""The names by which this machine refers to itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A server's settings. `models` are the names that requests may ask for; without any, all names are accepted."""

    name: str
    models: frozenset[str] = frozenset()
    key: str = ""
    hosts: frozenset[str] | None = LOOPBACK
    """Names accepted in a Host or Origin header, in lower case; None means all."""
    origins: frozenset[str] = frozenset()
    """Origins whose pages may read answers (CORS)."""
    warm_up: bool = True
    limits: Limits = field(default_factory=Limits)

    @property
    def public_names(self) -> list[str]:
        """The model names shown to clients, "mpir" first."""
        return ["mpir", *sorted(self.models - {"mpir", self.name})]


OF_STATUS = {401: {"WWW-Authenticate": "Bearer"}, 408: {"Connection": "close"}}
"""Headers that a status needs; nothing can be read after a request that never ended."""


class ApiError(Exception):
    """A failed request: an HTTP status, and one sentence with the reason and remedy."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after

    @property
    def headers(self) -> dict[str, str]:
        """The headers for this error."""
        headers = OF_STATUS.get(self.status, {})
        return headers if self.retry_after is None else {**headers, "Retry-After": str(self.retry_after)}
