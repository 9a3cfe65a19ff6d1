"""Temporary files next to their targets; the next write removes those left by killed processes."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from uuid import uuid4

from mpir.files.system import posix_module

fcntl = posix_module("fcntl")
"""None on Windows, where an open file cannot be removed."""

RANDOM = 12
"""Hexadecimal digits in the name of a temporary file."""
LEFTOVERS = tuple(f".*.{'[0-9a-f]' * RANDOM}{suffix}" for suffix in ("", ".lock", ".old", ".tmp"))
"""Name patterns of temporary files and folders that killed processes leave behind."""


@contextmanager
def temporary_file(target: Path) -> Iterator[tuple[IO[bytes], Path]]:
    """Yield an open temporary file next to the target, and its path; it is removed at the end if it still exists.

    The file is locked while the process lives, so that no other process takes it for a leftover.

    Raises:
        OSError: the file cannot be created.
    """
    _clear_leftovers(target)
    stream, path = _locked_file(target)
    held = os.dup(stream.fileno()) if fcntl else None  # keeps the lock until the file has replaced its target
    try:
        with stream:
            yield stream, path
    finally:
        path.unlink(missing_ok=True)
        if held is not None:
            os.close(held)


def _locked_file(target: Path) -> tuple[IO[bytes], Path]:
    while True:
        path = target.with_name(f".{target.name}.{uuid4().hex[:RANDOM]}.tmp")
        stream = open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "wb")  # noqa: SIM115  (the caller closes)
        _lock(stream)
        if os.fstat(stream.fileno()).st_nlink:  # else another process removed it before it was locked
            return stream, path
        stream.close()


def _clear_leftovers(target: Path) -> None:
    """Remove the target's unlocked temporary files."""
    for path in target.parent.glob(f".{glob.escape(target.name)}.{'[0-9a-f]' * RANDOM}.tmp"):
        with suppress(OSError), path.open("rb") as stream:
            if fcntl is not None:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _lock(stream: IO[bytes]) -> None:
    """Lock a file where the system supports it; elsewhere, no process removes unlocked files."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(stream, fcntl.LOCK_EX)
