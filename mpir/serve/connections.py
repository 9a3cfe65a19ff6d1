"""Deadlines of connections, and room for new ones: uvicorn bounds neither headers nor bodies in time."""

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

from mpir.serve.settings import Limits

try:
    import resource
except ImportError:  # on Windows, which bounds handles by memory alone
    resource = None  # type: ignore[assignment]

log = logging.getLogger("mpir.serve.connections")
KEEP_ALIVE = 75
"""Seconds that an idle connection stays open: longer than the 60 of common proxies, which would otherwise send a
request on one that is just being closed, and tell their client 502."""
HEADERS = (5.0, 30.0)
"""Seconds for the head of a request: as many as for its answer, but between these."""
MARGIN = 5.0
"""Seconds beyond those in which the application answers 408 or 504 itself, so that its sentence arrives."""
ACCEPTED_AT_ONCE = 16
"""Connections that asyncio accepts before it looks at those that it has: each is a descriptor."""
RESERVED = 64 + 4 * ACCEPTED_AT_ONCE
"""Descriptors for files and processes, and for connections that are being accepted or closed."""


class Phase(Enum):
    """Who has to do what on a connection."""

    IDLE = auto()
    """The client may send another request, or read the rest of an answer."""
    HEADERS = auto()
    BODY = auto()
    ANSWERING = auto()
    """The server's turn; in all others it waits for the client."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be, and the seconds that each may be in a phase."""

    connections: int
    seconds: dict[Phase, float]


def connection_limits(limits: Limits) -> ConnectionLimits:
    """The limits of a server's connections, whose number the system's limit of open descriptors bounds, too."""
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
    """How many connections may be open beside the files that are."""
    if resource is None:
        return math.inf
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return math.inf
    return descriptors - sum(1 for _ in Path("/dev/fd").iterdir()) - RESERVED


class BoundedProtocol(H11Protocol):
    """A connection that ends where it stays in one phase for too long, however often a byte arrives.

    Where there are too many, a new one takes the room of the connection whose client has kept the server waiting for
    longest. Requests that are being answered keep theirs.
    """

    limits: ClassVar[ConnectionLimits]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, in place of another connection where there are too many."""
        super().connection_made(transport)
        self.phase, self.since = Phase.HEADERS, self.loop.time()
        self._request: object = None
        self._timer = self._start_timer()
        if len(self.connections) > self.limits.connections:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Take bytes, which may end a phase."""
        super().data_received(data)
        self._update_phase()

    def on_response_complete(self) -> None:
        """Go on after an answer, perhaps with a request that has arrived behind the last one."""
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
            log.warning("more than %d connections; those that wait longest are closed", self.limits.connections)
            min(waiting, key=lambda peer: peer.since).transport.abort()


def bounded_protocol(limits: ConnectionLimits) -> type[BoundedProtocol]:
    """The class of a server's connections, as uvicorn wants it."""
    return type("ServerProtocol", (BoundedProtocol,), {"limits": limits})
