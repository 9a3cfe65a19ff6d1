"""Write files and folders atomically: readers see the old or the complete new one, never a part."""

from __future__ import annotations

import ctypes
import errno
import glob
import io
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from mpir.errors import InputError, MpirError, OutputError
from mpir.files.folder_format import FolderFormat
from mpir.files.lock import acquire
from mpir.files.paths import checked_path, resolved
from mpir.files.temporary import temporary_file

CLEARING = 30.0
"""Maximum seconds to wait for a process that checks whether a new lock is stale."""
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""The system's error numbers for a full disk."""


@contextmanager
def naming_output(path: str | Path) -> Iterator[None]:
    """Name the output in errors when the system refuses a write inside this block.

    Libraries that write files hide the system's error: safetensors and tokenizers raise another one with its number
    in the text, and torch raises another one from it.

    Raises:
        OutputError: the output cannot be written.
    """
    try:
        yield
    except MpirError:
        raise
    except Exception as error:  # libraries wrap the system's error in types of their own; others are raised again
        cause = _refusal(error)
        if cause is None:
            raise
        message = f"{path}: cannot be written ({cause.strerror or cause}); check the folder and free space."
        raise OutputError(message) from error


def _refusal(error: BaseException) -> OSError | None:
    """Return the system's error that caused another one, if any; an OSError without a number comes from a library.

    The exception is numpy's `tofile`, whose error reports only that fewer items were written than requested.
    """
    if isinstance(error, OSError) and re.fullmatch(r"\d+ requested and \d+ written", str(error)):
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if isinstance(error, OSError):
        return error if error.errno is not None else None
    if isinstance(error.__context__, OSError) and error.__context__.errno in FULL:
        return error.__context__
    number = re.search(r"\(os error (\d+)\)", str(error))
    return OSError(int(number[1]), os.strerror(int(number[1]))) if number and int(number[1]) in FULL else None


@contextmanager
def atomic_write(path: str | Path, *, binary: bool = False) -> Iterator[IO[Any]]:
    """Write a file so that readers see the old one or the whole new one, never a part (temporary file, fsync, rename).

    A link is kept and its target replaced; a pipe or a device such as ``/dev/null`` is written to.

    Raises:
        OutputError: the folder or file cannot be written; nothing is left behind.
    """
    target = checked_path(path)
    with naming_output(path):
        if target.exists() and not target.is_file() and not target.is_dir():
            with open(target, "wb") as device, _as_stream(device, binary) as stream:
                yield stream
            return
        target = resolved(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            raise IsADirectoryError(21, "Is a directory")
        with temporary_file(target) as (raw, temporary):
            with _as_stream(raw, binary) as stream:
                yield stream
                stream.flush()
                os.fsync(raw.fileno())
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(target)


def _as_stream(raw: IO[bytes], binary: bool) -> IO[Any]:
    return raw if binary else io.TextIOWrapper(raw, encoding="utf-8", newline="\n")


@contextmanager
def atomic_folder(path: str | Path, folder_format: FolderFormat | None = None) -> Iterator[Path]:
    """Fill a temporary folder next to `path`; it replaces `path` only if the block ends without an error.

    `path` is replaced only if it is an empty folder, or one of the `folder_format` without foreign files, both before
    and after the block. Leftovers of killed processes next to `path` are removed.

    Raises:
        OutputError: the folder cannot be written, or `path` is something else.
    """
    target = resolved(path)
    _check_replaceable(target, folder_format)
    with naming_output(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        _clear_leftovers(target)
        with _folder_beside(target) as temporary:
            temporary.chmod(0o777 & ~_umask())
            yield temporary
            for file in filter(Path.is_file, temporary.rglob("*")):
                file.chmod(0o666 & ~_umask())  # some libraries make their files unreadable to others
            _check_replaceable(target, folder_format)
            _put_in_place(temporary, target)


def _check_replaceable(target: Path, folder_format: FolderFormat | None) -> None:
    if folder_format is not None:
        folder_format.check_replaceable(target)
    elif target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise OutputError(f"{target}: exists, so it is not replaced; remove it or choose another name.")


def check_folder(path: str | Path) -> None:
    """Refuse, before any work, a folder that will not be writable; it need not exist yet.

    Raises:
        OutputError: `path` or a parent is a file, or the existing folder is not writable.
    """
    target = resolved(path)
    existing = next(ancestor for ancestor in (target, *target.parents) if ancestor.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        fault = "is not writable" if existing.is_dir() else "is not a folder"
        raise OutputError(f"{path}: cannot be written, because {existing} {fault}; choose another folder.")


def replace_folder(temporary: Path, target: Path, folder_format: FolderFormat) -> None:
    """Replace a folder of the format by a finished one next to it.

    Raises:
        OutputError: the target is something else, or contains foreign files.
    """
    folder_format.check_replaceable(target)
    _put_in_place(temporary, target)
    for folder in (temporary, _old(temporary)):
        shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(temporary: Path, target: Path) -> None:
    """Rename a folder; an existing target is exchanged with it, or else moved away first."""
    if not target.exists():
        temporary.rename(target)
    elif not _exchange(temporary, target):
        target.rename(_old(temporary))
        temporary.rename(target)


def _exchange(first: Path, second: Path) -> bool:
    """Swap the names of two folders atomically, where the system can (Linux); return whether it did."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    working_folder, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(rename(working_folder, os.fsencode(first), working_folder, os.fsencode(second), exchange) == 0)


@contextmanager
def _folder_beside(target: Path) -> Iterator[Path]:
    """Yield a temporary folder next to the target. A lock, which ends with the process, marks it as in use."""
    temporary = target.with_name(f".{target.name}.{uuid4().hex[:12]}")
    with acquire(_lock(temporary), seconds=CLEARING):
        try:
            temporary.mkdir()
            yield temporary
        finally:
            _remove(temporary)


def _clear_leftovers(target: Path) -> None:
    """Remove the folders of killed processes, and restore an old folder that one of them moved away."""
    from filelock import FileLock, Timeout  # takes longer to import than the rest of this module

    for lock in target.parent.glob(f".{glob.escape(target.name)}.{'[0-9a-f]' * 12}.lock"):
        temporary = lock.with_suffix("")
        with suppress(Timeout, OSError), FileLock(lock, timeout=0):
            if _old(temporary).exists() and not target.exists():
                _old(temporary).rename(target)
            _remove(temporary)


def _remove(temporary: Path) -> None:
    """Remove a temporary folder and its companions, the lock last."""
    for folder in (temporary, _old(temporary)):
        shutil.rmtree(folder, ignore_errors=True)
    _lock(temporary).unlink(missing_ok=True)


def _old(temporary: Path) -> Path:
    return temporary.with_name(f"{temporary.name}.old")


def _lock(temporary: Path) -> Path:
    return temporary.with_name(f"{temporary.name}.lock")


def write_json(path: str | Path, value: Any, *, indent: int | None = 2) -> None:
    """Write a value as JSON, atomically. Raises OutputError when the file cannot be written."""
    with atomic_write(path) as stream:
        json.dump(value, stream, indent=indent, ensure_ascii=False, allow_nan=False)
        stream.write("\n")


def cache_folder() -> Path:
    """Return the folder for data that mpir can regenerate: $MPIR_CACHE, else its folder in the user's cache.

    Raises:
        OutputError: neither is possible, for instance because the user's home is unknown.
    """
    chosen = os.environ.get("MPIR_CACHE")
    try:
        return checked_path(chosen or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "mpir")
    except InputError as error:
        raise OutputError(f"mpir's cache folder: {error} Or set $MPIR_CACHE to another folder.") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
