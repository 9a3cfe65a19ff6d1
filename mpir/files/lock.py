"""Locks that let only one process write something, and that are released if the process is killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mpir.errors import OutputError

if TYPE_CHECKING:
    from filelock import FileLock


def acquire(path: Path, *, seconds: float = 0) -> FileLock:
    """Take the lock at `path`, waiting at most `seconds` for another process to release it.

    Raises:
        filelock.Timeout: another process holds it.
        OSError: the location is not writable. FileLock by itself may wait for ever where it cannot create a file.
    """
    from filelock import FileLock  # takes longer to import than what imports this

    with path.open("ab"):
        lock = FileLock(path, timeout=seconds)
    lock.acquire()
    return lock


@contextmanager
def exclusive(path: Path, doing: str) -> Iterator[None]:
    """Hold the lock at `path`, a file in the folder being written, until the end of the block.

    Raises:
        OutputError: another process is `doing` it, or the folder cannot be written.
    """
    from filelock import Timeout  # takes longer to import than what imports this

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = acquire(path)
    except Timeout as error:
        raise OutputError(f"{path.parent}: another process is {doing}; wait for it to end.") from error
    except OSError as error:
        raise OutputError(f"{path.parent}: cannot be written ({error.strerror}); check the folder.") from error
    try:
        yield
    finally:
        with suppress(OSError):  # removed while held, so that no other process can hold a deleted file
            path.unlink()
        lock.release()
