"""Hashes of files, and checksums in those that mpir writes, so that damage is detected and refused.

A JSON object has its checksum in a field of its own (core/checksum.py). A binary file has its checksum at the end,
where torch and other readers of zip archives ignore it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from mpir.core.checksum import RESTORE, add_checksum, verify_checksum
from mpir.errors import ArtefactError, InputError, format_value
from mpir.files.read import open_bytes, place_of, read_bytes, read_json, read_json_lines
from mpir.files.write import atomic_write, write_json

MARK = b"\nsha256:"
"""Marks the end of a binary file's content; the checksum of that content follows."""
_DIGITS = 64
_BLOCK = 2**20
SUFFIX = ".md5"
_DIGEST = re.compile(rb"(?<![0-9a-fA-F])[0-9a-fA-F]{32}(?![0-9a-fA-F])")


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


def write_json_with_checksum(path: str | Path, values: Mapping[str, Any]) -> None:
    """Write an object with its checksum, atomically. Raises OutputError when the file cannot be written."""
    write_json(path, add_checksum(values))


def read_json_with_checksum(path: str | Path, remedy: str = RESTORE) -> dict[str, Any]:
    """Read a file of one JSON object, without its checksum.

    Raises:
        ArtefactError: the content does not match its checksum.
        InputError: as `read_json`.
    """
    return verify_checksum(read_json(path), path, remedy)


def read_json_lines_with_checksums(path: str | Path, remedy: str = RESTORE) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object without its checksum) of a JSON-lines file.

    Raises:
        ArtefactError: a line does not match its checksum.
        InputError: as `read_json_lines`.
    """
    for number, values in read_json_lines(path):
        yield number, verify_checksum(values, place_of(path, number), remedy)


@contextmanager
def write_bytes_with_checksum(path: str | Path) -> Iterator[IO[bytes]]:
    """Write a binary file sequentially and atomically, with its checksum at the end.

    Raises:
        OutputError: as `atomic_write`.
    """
    with atomic_write(path, binary=True) as stream:
        hashing = _HashingStream(stream)
        yield hashing  # type: ignore[misc]  # has the methods that writers of whole files use
        stream.write(MARK + hashing.hash.hexdigest().encode())


def verify_bytes(path: str | Path, remedy: str) -> None:
    """Compare a binary file with the checksum at its end; a file without a checksum is accepted.

    Raises:
        ArtefactError: the content does not match its checksum.
    """
    digest = hashlib.sha256()
    with open_bytes(path) as stream:
        content = Path(path).stat().st_size - len(MARK) - _DIGITS
        for start in range(0, max(0, content), _BLOCK):
            digest.update(stream.read(min(_BLOCK, content - start)))
        end = stream.read()
    if end.startswith(MARK) and end != MARK + digest.hexdigest().encode():
        raise ArtefactError(f"{path}: its content does not match its checksum; {remedy}.")


class _HashingStream:
    """A stream for sequential writing that hashes the bytes written."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.hash = stream, hashlib.sha256()

    def write(self, content: Any) -> int:
        """Write bytes; return how many."""
        self.hash.update(content)
        return self.stream.write(content)

    def flush(self) -> None:
        """Flush the underlying stream."""
        self.stream.flush()


def check_md5(file: Path) -> None:
    """Compare a file with the MD5 beside it, if there is one. A file is read once per process unless it changes.

    Raises:
        InputError: the file is incomplete or has changed, or what is beside it is no MD5.
    """
    published = file.with_name(file.name + SUFFIX)
    if published.is_file():
        _check(file, published, file_state(file), file_state(published))


@lru_cache(maxsize=65_536)
def _check(file: Path, published: Path, *_: tuple[int, ...]) -> None:
    content = read_bytes(published)
    expected = _DIGEST.search(content)
    if expected is None:
        raise InputError(
            f"{published}: has no MD5 (got {format_value(content[:60].decode(errors='replace'))}, expected 32 "
            "hexadecimal digits). Download it again, or remove it."
        )
    with open(file, "rb") as stream:
        actual = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if actual != (digest := expected[0].decode().lower()):
        raise InputError(f"{file}: is incomplete or damaged (MD5 {actual}, expected {digest}). Download it again.")
