"""Being the only process that writes something: a lock, which a kill lets go of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mpir.errors import OutputError

if TYPE_CHECKING:
    from filelock import FileLock


def acquire(path: Path, *, seconds: float = 0) -> FileLock:
    """Take the lock at `path`, waiting so long at most for another process to let go of it.

    Raises:
        filelock.Timeout: another process has it.
        OSError: the system lets nobody write there. FileLock alone may wait for ever where a file cannot be made.
    """
    from filelock import FileLock  # takes longer to import than what imports this

    with path.open("ab"):
        lock = FileLock(path, timeout=seconds)
    lock.acquire()
    return lock


@contextmanager
def exclusive(path: Path, doing: str) -> Iterator[None]:
    """Hold the lock at `path`, a file of its own in what is written, to the end of the block.

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
        with suppress(OSError):  # while it is held, or another process could hold what is taken away
            path.unlink()
        lock.release()
