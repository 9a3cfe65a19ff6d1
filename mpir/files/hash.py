"""The hash of a file, which identifies its content."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path


def sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal; computed once per process unless the file changes."""
    return _sha256(str(path), file_state(path))


@lru_cache(maxsize=65_536)
def _sha256(path: str, status: tuple[int, ...]) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_state(path: str | Path) -> tuple[int, ...]:
    """Return a value that changes when a file is written again; () for a file that does not exist."""
    try:
        status = Path(path).stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
