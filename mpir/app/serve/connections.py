"""Deadlines for connections, and a limit on their number: uvicorn limits the time of neither headers nor bodies."""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from mpir.app.serve.settings import Limits
from mpir.files.system import posix_module

resource = posix_module("resource")
"""None on Windows, where only memory limits handles."""

log = logging.getLogger("mpir.app.serve.connections")
KEEP_ALIVE = 75
"""Seconds that an idle connection stays open: longer than the 60 of common proxies, which could otherwise send a
request on a connection that is just being closed, and answer their client with 502."""
HEADERS = (5.0, 30.0)
"""The bounds, in seconds, of the time for a request's head, which is otherwise that for its answer."""
MARGIN = 5.0
"""Extra seconds, so that the application's own answer 408 or 504 arrives first."""
ACCEPTED_AT_ONCE = 16
"""Connections that asyncio accepts in one go; each needs a descriptor."""
RESERVED = 64 + 4 * ACCEPTED_AT_ONCE
"""Descriptors reserved for files and processes, and for connections being accepted or closed."""


class Phase(Enum):
    """The state of a connection: who has to act."""

    IDLE = auto()
    """The client may send another request, or read the rest of an answer."""
    HEADERS = auto()
    BODY = auto()
    ANSWERING = auto()
    """The server has to act; in all other phases it waits for the client."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The most connections, and the seconds that each may spend in a phase."""

    connections: int
    seconds: dict[Phase, float]


def connection_limits(limits: Limits) -> ConnectionLimits:
    """The limits of a server's connections; the system's limit of open descriptors also bounds their number."""
    shortest, longest = HEADERS
    return ConnectionLimits(
        max(1, int(min(limits.connections, _spare_descriptors()))),
        {
            Phase.IDLE: KEEP_ALIVE,
            Phase.HEADERS: min(longest, max(shortest, limits.seconds)),
            Phase.BODY: limits.seconds + MARGIN,
            Phase.ANSWERING: limits.seconds + MARGIN,
        },
    )


def _spare_descriptors() -> float:
    """How many connections the descriptors allow in addition to the open files."""
    if resource is None:
        return math.inf
    descriptors: float = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if descriptors == resource.RLIM_INFINITY:
        return math.inf
    return descriptors - sum(1 for _ in Path("/dev/fd").iterdir()) - RESERVED


class BoundedProtocol(H11Protocol):
    """A connection that is closed when it stays in one phase for too long, even if bytes keep arriving.

    When there are too many, a new connection replaces the one whose client has kept the server waiting longest.
    Connections whose requests are being answered stay.
    """

    limits: ClassVar[ConnectionLimits]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start, and replace another connection if there are too many."""
        super().connection_made(transport)
        self.phase, self.since = Phase.HEADERS, self.loop.time()
        self._request: object = None
        self._timer = self._start_timer()
        if len(self.connections) > self.limits.connections:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Receive bytes, which may end a phase."""
        super().data_received(data)
        self._update_phase()

    def on_response_complete(self) -> None:
        """Continue after an answer, possibly with a request that has already arrived."""
        super().on_response_complete()
        self._update_phase()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._timer.cancel()
        super().connection_lost(exc)

    def _update_phase(self) -> None:
        phase = self._current_phase()
        if (phase, self.cycle) != (self.phase, self._request):
            self.phase, self._request, self.since = phase, self.cycle, self.loop.time()
            self._timer.cancel()
            self._timer = self._start_timer()

    def _current_phase(self) -> Phase:
        if self.conn.their_state is h11.SEND_BODY:
            return Phase.BODY
        if self.cycle is not None and not self.cycle.response_complete:
            return Phase.ANSWERING
        return Phase.IDLE if self.cycle is not None and not self.conn.trailing_data[0] else Phase.HEADERS

    def _start_timer(self) -> asyncio.TimerHandle:
        return self.loop.call_later(self.limits.seconds[self.phase], self.transport.abort)

    def _make_room(self) -> None:
        peers = [peer for peer in self.connections if isinstance(peer, BoundedProtocol) and peer is not self]
        waiting = [peer for peer in peers if peer.phase is not Phase.ANSWERING and not peer.transport.is_closing()]
        if waiting:
            log.warning("more than %d connections; the longest-waiting ones are closed", self.limits.connections)
            min(waiting, key=lambda peer: peer.since).transport.abort()


def bounded_protocol(limits: ConnectionLimits) -> type[BoundedProtocol]:
    """The class of a server's connections, for uvicorn."""
    return type("ServerProtocol", (BoundedProtocol,), {"limits": limits})
