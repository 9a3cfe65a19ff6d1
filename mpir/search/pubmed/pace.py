"""Limit the requests per second to one server, across all threads of the process."""

from __future__ import annotations

import threading
import time


class Pace:
    """Spaces requests evenly."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self, per_second: float) -> None:
        """Wait until the last request is at least 1 / `per_second` seconds ago."""
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
