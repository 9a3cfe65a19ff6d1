"""What only some systems have: modules of POSIX, and Linux's record of a process's memory."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any


def posix_module(name: str) -> Any:
    """Return a module of Python's library that POSIX systems have; None on Windows."""
    try:
        return import_module(name)
    except ImportError:
        return None


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
