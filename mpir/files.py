"""Files: read with located errors, written atomically, identified by their hash."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, cast

from mpir.errors import InputError, OutputError

STDIN = "-"
GZIP = b"\x1f\x8b"


@contextmanager
def open_bytes(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes: plain, gzip-compressed (by suffix or content), or standard input (``-``).

    Raises:
        InputError: the file is missing, is a folder, or its compressed data is truncated or damaged.
    """
    try:
        if str(path) == STDIN:
            yield sys.stdin.buffer
            return
        with open(path, "rb") as stream:
            compressed = str(path).endswith(".gz") or stream.peek(2).startswith(GZIP)
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=stream)) if compressed else stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path}: the gzip data is truncated or damaged ({error}); fetch or compress the file again."
        ) from error
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror or error}); check the path and its permissions."
        ) from error


def place_of(path: str | Path, line: int) -> str:
    """How a message names a line of a file or of standard input."""
    return f"{'standard input' if str(path) == STDIN else path}:{line}"


def read_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end) of a UTF-8 text file, one line in memory at a time.

    Raises:
        InputError: unreadable, damaged, or not UTF-8 (the line is named).
    """
    with open_bytes(path) as stream:
        for number, line in enumerate(stream, 1):
            yield number, _decode(line.rstrip(b"\r\n"), place_of(path, number))


def read_json_lines(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) of a JSON-lines file; blank lines are passed over.

    Raises:
        InputError: a line that is not a JSON object (file and line are named).
    """
    for number, line in read_lines(path):
        if line.strip():
            yield number, parse_object(line, place_of(path, number))


def parse_object(text: str, place: str) -> dict[str, Any]:
    """Parse one JSON object; `place` (such as ``file:line``) begins the message of what goes wrong.

    Raises:
        InputError: the text is not JSON, or JSON but not an object.
    """
    value = _parse(text, place)
    if not isinstance(value, dict):
        raise InputError(f"{place}: expected a JSON object, found {_kind(value)}; write one object such as {{…}}.")
    return value


def read_json(path: str | Path) -> dict[str, Any]:
    """Read a file that holds one JSON object.

    Raises:
        InputError: unreadable, not UTF-8, not JSON (line and column are named), or not an object.
    """
    with open_bytes(path) as stream:
        content = stream.read()
    return parse_object(_decode(content, str(path)), str(path))


def _decode(content: bytes, place: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        where = place if content.count(b"\n") == 0 else f"{place}:{line}"
        byte = content[error.start]
        raise InputError(
            f"{where}: byte 0x{byte:02x} is not UTF-8; convert the file to UTF-8 (for instance with iconv)."
        ) from error


def _parse(text: str, place: str) -> Any:
    try:
        value = json.loads(text)
        if "\\ud" in text.lower():  # an escape may hold half a character, which nothing could write again
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError as error:
        message = f"{place}: a string holds half a character (an unpaired \\ud… escape); write both halves or none."
        raise InputError(message) from error
    except json.JSONDecodeError as error:
        found = repr(text[error.pos : error.pos + 20]) if error.pos < len(text) else "the end of the text"
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(
            f"{place}: not valid JSON at {where} ({error.msg}, found {found}); correct the file there."
        ) from error
    except ValueError as error:
        raise InputError(f"{place}: a number has more digits than mpir reads ({error}).") from error
    except RecursionError as error:
        raise InputError(f"{place}: the JSON is nested too deeply; expected a flat record.") from error


def _kind(value: Any) -> str:
    names = {list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number", type(None): "null"}
    return names.get(type(value), type(value).__name__)


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


def sha256(path: str | Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal; computed once in a process while the file stays as it is."""
    status = Path(path).stat()
    return _sha256(str(path), (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


@lru_cache(maxsize=1024)
def _sha256(path: str, status: tuple[int, ...]) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fingerprint(value: Any) -> str:
    """Sixteen hexadecimal digits that identify a JSON-able value, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
