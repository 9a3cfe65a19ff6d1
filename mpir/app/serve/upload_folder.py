"""Folders for uploaded files, which may be private texts: nobody else reads them, and none outlives its request."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mpir.files.lock import acquire

PREFIX = "mpir-upload-"
_LOCK = ".lock"
_NEW = 60.0
"""Seconds in which a folder without a lock may belong to a server that is about to lock it."""


@contextmanager
def upload_folder() -> Iterator[Path]:
    """Yield a folder for the file of one request; it is removed at the end, also of a request that is cancelled.

    The server, not the process that reads the file, holds its lock, which the system releases with the server.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        lock = acquire(folder / _LOCK)
        try:
            yield folder
        finally:
            lock.release()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers() -> None:
    """Remove the folders of this user's servers that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if _is_own(folder) and _is_left(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_own(folder: Path) -> bool:
    is_mine = not hasattr(os, "getuid") or folder.lstat().st_uid == os.getuid()
    return folder.is_dir() and not folder.is_symlink() and is_mine


def _is_left(folder: Path) -> bool:
    """Whether no process holds the folder."""
    from filelock import Timeout  # takes longer to import than the rest of this module

    if not (folder / _LOCK).exists():
        return time.time() - folder.stat().st_mtime > _NEW
    try:
        acquire(folder / _LOCK).release()
    except Timeout:
        return False
    return True
