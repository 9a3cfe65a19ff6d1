"""The hash of a file, which identifies its content."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path


def sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal; computed once per process unless the file changes."""
    status = Path(path).stat()
    return _sha256(str(path), (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


@lru_cache(maxsize=65_536)
def _sha256(path: str, status: tuple[int, ...]) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
