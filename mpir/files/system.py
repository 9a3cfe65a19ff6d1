"""What only some systems have: modules and signals of POSIX, and Linux's record of a process's memory."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any


def posix_module(name: str) -> Any:
    """Return a module of Python's library that POSIX systems have; None on Windows."""
    try:
        return import_module(name)
    except ImportError:
        return None


_FAULTS = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL")
_SIGACTION_BYTES = 1024
"""More than C's structure has on any system."""


@contextmanager
def fault_handlers_kept() -> Iterator[None]:
    """Give back C's handlers of faults as they were, for a library that installs its own or takes all away.

    Java stops its threads by faults that its own handlers expect: without these, the process ends.
    """
    handlers = {}
    if os.name == "posix":
        import ctypes

        sigaction = ctypes.CDLL(None).sigaction
        for number in (int(getattr(signal, name)) for name in _FAULTS):
            handlers[number] = ctypes.create_string_buffer(_SIGACTION_BYTES)
            sigaction(number, None, handlers[number])
    try:
        yield
    finally:
        for number, handler in handlers.items():
            sigaction(number, handler, None)


def reset_peak_memory() -> None:
    """Reset Linux's record of the process's peak memory."""
    path = Path("/proc/self/clear_refs")
    if path.is_file() and os.access(path, os.W_OK):
        path.write_text("5", encoding="ascii")


def peak_memory() -> int | None:
    """Return the process's peak memory in bytes, since the last reset; None where the system does not report it."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.is_file() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), None)
