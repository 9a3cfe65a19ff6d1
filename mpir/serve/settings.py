"""What a server allows, and how it says no."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most of everything. `waiting` and `batch` count tokens, estimated from the length of the texts."""

    documents: int = 1_000
    document: int = 250_000
    """Characters of one document."""
    sentences: int = 50_000
    """Of all documents of a request together."""
    query: int = 10_000
    """Characters of the query."""
    body: int = 16 * 2**20
    """Bytes of a request."""
    waiting: int = 2_000_000
    searches: int = 64
    """Searches of an index that wait or run."""
    batch: int = 100_000
    connections: int = 1_000
    """Open at the same time."""
    seconds: float = 60.0
    """For reading a request, and again for answering it."""


LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""The names of this machine for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a server is started with. `models` are names that requests may ask for; none of them means any."""

    name: str
    models: frozenset[str] = frozenset()
    key: str = ""
    hosts: frozenset[str] | None = LOOPBACK
    """Names in a Host or Origin header that are answered, in small letters; None means all."""
    warm_up: bool = True
    limits: Limits = field(default_factory=Limits)

    @property
    def public_names(self) -> list[str]:
        """The names that clients are told, "mpir" first."""
        return ["mpir", *sorted(self.models - {"mpir", self.name})]


OF_STATUS = {401: {"WWW-Authenticate": "Bearer"}, 408: {"Connection": "close"}}
"""Headers that a status asks for; a request that never ended leaves nothing to be read after it."""


class ApiError(Exception):
    """A request that gets no ranking: an HTTP status, and one sentence that says why and what to do."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after

    @property
    def headers(self) -> dict[str, str]:
        """The headers that go with it."""
        headers = OF_STATUS.get(self.status, {})
        return headers if self.retry_after is None else {**headers, "Retry-After": str(self.retry_after)}
