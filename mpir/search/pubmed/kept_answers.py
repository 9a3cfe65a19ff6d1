"""Cache the answers of services for a day: one checked file for each request, with a bound on their total size."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from mpir.errors import MpirError
from mpir.files.write import atomic_write

log = logging.getLogger(__name__)
SECONDS = 24 * 60 * 60
LIMIT = 256 * 2**20
"""The most bytes of all kept answers together; beyond it, the oldest are deleted."""
_SUFFIX = ".answer"


def request_key(url: str, parameters: Mapping[str, str]) -> str:
    """The cache key of a request: a digest of its address and parameters, which reveals neither."""
    lines = [url, *(f"{name}={value}" for name, value in sorted(parameters.items()))]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


class KeptAnswers:
    """A folder of answers, each stored after its SHA-256; a damaged answer or one older than a day counts as absent.

    Where the folder cannot be written, a warning is logged once and nothing is kept.
    """

    def __init__(self, folder: Path | None, *, seconds: float = SECONDS, limit: int = LIMIT) -> None:
        self._folder, self._seconds, self._limit = folder, seconds, limit

    def get(self, key: str) -> bytes | None:
        """The answer of a request, or None."""
        if self._folder is None:
            return None
        path = self._folder / f"{key}{_SUFFIX}"
        try:
            if not 0 <= time.time() - path.stat().st_mtime < self._seconds:
                return None
            content = path.read_bytes()
        except OSError:
            return None
        digest, answer = content[:32], content[32:]
        return answer if hashlib.sha256(answer).digest() == digest else None

    def keep(self, key: str, answer: bytes) -> None:
        """Keep an answer, and delete the oldest ones beyond the limit."""
        if self._folder is None or len(answer) > self._limit:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with atomic_write(self._folder / f"{key}{_SUFFIX}", binary=True) as stream:
                stream.write(hashlib.sha256(answer).digest() + answer)
            self._make_room()
        except (OSError, MpirError) as error:
            log.warning("%s: answers cannot be cached there (%s); going on without", self._folder, type(error).__name__)
            self._folder = None

    def _make_room(self) -> None:
        assert self._folder is not None
        files = []
        for path in self._folder.glob(f"*{_SUFFIX}"):
            with suppress(OSError):  # another process may delete it
                state = path.stat()
                files.append((state.st_mtime, state.st_size, path))
        size = sum(file_size for _, file_size, _ in files)
        for _, file_size, path in sorted(files):
            if size <= self._limit:
                break
            path.unlink(missing_ok=True)
            size -= file_size
