"""Writing files and folders: the old one or the whole new one, never a part."""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mpir.errors import OutputError


@contextmanager
def atomic_write(path: str | Path, *, binary: bool = False) -> Iterator[IO[Any]]:
    """Write a file so that readers see the old one or the whole new one, never a part (temporary file, fsync, rename).

    A link stays, and what it points to is replaced; a pipe or a device such as ``/dev/null`` is written to.

    Raises:
        OutputError: the folder or file cannot be written; nothing is left behind.
    """
    target = Path(path)
    temporary: Path | None = None
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            with open(target, "wb") as raw, _as_stream(raw, binary) as stream:
                yield stream
            return
        target = target.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            raise IsADirectoryError(21, "Is a directory")
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        temporary = Path(name)
        with open(handle, "wb") as raw, _as_stream(raw, binary) as stream:
            yield stream
            stream.flush()
            os.fsync(raw.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        message = f"{path}: cannot be written ({error.strerror or error}); check the folder and free space."
        raise OutputError(message) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _as_stream(raw: IO[bytes], binary: bool) -> IO[Any]:
    return raw if binary else io.TextIOWrapper(raw, encoding="utf-8", newline="\n")


@contextmanager
def atomic_folder(path: str | Path, *, marker: str | None = None) -> Iterator[Path]:
    """Fill a temporary folder beside `path`; it takes the place of `path` only if the block ends without an error.

    `marker` is a file that every folder of the kind holds: what stands at `path` without it is never replaced.

    Raises:
        OutputError: the folder cannot be written, or something else stands there.
    """
    target = Path(path).resolve()
    if marker is not None:
        check_replaceable(path, marker)
    temporary: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _folder_beside(target)
        temporary.chmod(0o777 & ~_umask())
        yield temporary
        for file in filter(Path.is_file, temporary.rglob("*")):
            file.chmod(0o666 & ~_umask())  # some libraries let nobody else read what they write
        _put_in_place(temporary, target)
    except OSError as error:
        if error.errno is None:  # not the system's: some libraries raise it for anything
            raise
        raise OutputError(f"{path}: cannot be written ({error.strerror}); check free space, and the folder.") from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def check_replaceable(path: str | Path, marker: str) -> None:
    """Refuse to replace, which means to delete, what is not of the kind that holds a file `marker`.

    Raises:
        OutputError: a file stands at `path`, or a folder that is neither empty nor holds the marker.
    """
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise OutputError(f"{path}: exists and is no folder, so it is not replaced; choose another name.")
    if target.is_dir() and not (target / marker).is_file() and any(target.iterdir()):
        raise OutputError(
            f"{path}: exists and holds no {marker}, so it is something else and is not replaced; remove it or choose "
            "another folder."
        )


def _put_in_place(temporary: Path, target: Path) -> None:
    """Rename a folder; the one that stands at its place is moved away first, since deleting it may take long."""
    if not target.exists():
        temporary.rename(target)
        return
    old = _folder_beside(target)
    target.replace(old)
    temporary.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _folder_beside(target: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))


def write_json(path: str | Path, value: Any, *, indent: int | None = 2) -> None:
    """Write a value as JSON, atomically. Raises OutputError when the file cannot be written."""
    with atomic_write(path) as stream:
        json.dump(value, stream, indent=indent, ensure_ascii=False, allow_nan=False)
        stream.write("\n")


def cache_folder() -> Path:
    """Where mpir keeps what it can make again: $MPIR_CACHE, else its folder in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("MPIR_CACHE") or Path(home) / "mpir")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
