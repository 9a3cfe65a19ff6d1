"""At most so many requests a second to one server, by all threads of the process together."""

from __future__ import annotations

import threading
import time


class Pace:
    """Turns at an even distance."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self, per_second: float) -> None:
        """Wait for a turn, so that turns are at least 1 / `per_second` seconds apart."""
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + 1 / per_second
        time.sleep(max(0.0, turn - time.monotonic()))


_paces: dict[str, Pace] = {}
_lock = threading.Lock()


def pace_of(host: str) -> Pace:
    """The pace that all clients of this process share for a host."""
    with _lock:
        return _paces.setdefault(host, Pace())
