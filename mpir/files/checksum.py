"""Checksums for the files that mpir writes and reads back, so that damage is detected and refused.

A JSON object has its checksum in a field of its own (core/checksum.py). A binary file has its checksum at the end,
where torch and other readers of zip archives ignore it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mpir.core.checksum import RESTORE, add_checksum, verify_checksum
from mpir.errors import ArtefactError
from mpir.files.read import open_bytes, place_of, read_json, read_json_lines
from mpir.files.write import atomic_write, write_json

MARK = b"\nsha256:"
"""Marks the end of a binary file's content; the checksum of that content follows."""
_DIGITS = 64
_BLOCK = 2**20


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
