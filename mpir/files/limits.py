"""Limit how much of a file is held in memory, so that a damaged or hostile file cannot exhaust it.

Every limit is far above the needs of real collections (a full paper is under 5 MB, and texts compress to a tenth),
and an environment variable raises it.
"""

from __future__ import annotations

import io
import os
import select
import stat
import sys
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from mpir.errors import InputError, format_value

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Limit = Literal["MPIR_MAX_RECORD_MB", "MPIR_MAX_FILE_MB", "MPIR_MAX_EXPANSION"]
_DEFAULTS: dict[Limit, int] = {"MPIR_MAX_RECORD_MB": 32, "MPIR_MAX_FILE_MB": 1024, "MPIR_MAX_EXPANSION": 200}
PIPE_SECONDS = 60
_EXPANSION_FREE = 2**26
"""Any compressed file may expand to this many bytes, whatever its ratio."""
_TAGS_FREE, _TAGS_SHARE = 2**16, 20
"""An archive may have this many tags of XML, and one for each packed byte and 20 of ``MPIR_MAX_EXPANSION``."""
_BLOCK = 2**20


def limit(name: Limit) -> int:
    """Return a limit: megabytes of a line, record or whole file, or the ratio to which files may expand.

    Raises:
        InputError: the environment variable of this name is not a whole number from 1 to 1,000,000.
    """
    text = os.environ.get(name) or str(_DEFAULTS[name])
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= 10**6):
        message = f"the environment variable {name} is {format_value(text)}; expected a whole number up to 1000000."
        raise InputError(message)
    return int(text)


def limit_bytes(name: Limit) -> int:
    """Return in bytes a limit that is given in megabytes."""
    return limit(name) * 10**6


def too_large(location: str, content: str, name: Limit) -> InputError:
    """Return the error for `content` (such as "the line") that exceeds a limit at a location."""
    return InputError(
        f"{location}: {content} is longer than {limit(name)} MB; the file may be damaged, or set {name} to a larger "
        "number."
    )


def check_archive(path: str | Path) -> None:
    """Check, before an archive of XML files is unpacked, how much memory it can take.

    A tag takes far more memory in a library than in a file, and a packed file of tags alone is a thousandth of its
    size; real ones have fewer than four tags for each packed byte.

    Raises:
        InputError: it expands beyond ``MPIR_MAX_FILE_MB`` or ``MPIR_MAX_EXPANSION``, or has too many tags for its size.
    """
    packed, ratio = Path(path).stat().st_size, limit("MPIR_MAX_EXPANSION")
    with zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
        if size > limit_bytes("MPIR_MAX_FILE_MB"):
            raise too_large(str(path), "the file, unpacked,", "MPIR_MAX_FILE_MB")
        if size > max(_EXPANSION_FREE, ratio * packed):
            raise expansion_error(str(path), ratio)
        tags, most = 0, max(_TAGS_FREE, ratio // _TAGS_SHARE * packed)
        for entry in archive.infolist():
            with archive.open(entry) as stream:
                while tags <= most and (block := stream.read(_BLOCK)):
                    tags += block.count(b"<")
    if tags > most:
        raise expansion_error(str(path), ratio)


def expansion_error(name: str, ratio: int) -> InputError:
    """Return the error for a file whose contents exceed ``MPIR_MAX_EXPANSION``, the ratio."""
    return InputError(
        f"{name}: the compressed data expands to more than {ratio} times its size; the file may be "
        "meant to exhaust memory. If you trust it, set MPIR_MAX_EXPANSION to a larger number."
    )


def open_regular(path: str) -> io.BufferedReader:
    """Open a file, or a pipe with a writer, for reading bytes.

    Raises:
        InputError: the path is a device or a socket, which have no end, or a named pipe that gets no data within a
            minute.
        OSError: it cannot be opened.
    """
    mode = os.stat(path).st_mode  # noqa: PTH116  (a text)
    if stat.S_ISFIFO(mode) and not path.startswith(("/dev/", "/proc/")):
        return _open_pipe(path)
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISFIFO(mode) or path in ("/dev/stdin", os.devnull):
        return open(path, "rb")
    raise InputError(f"{path}: this is a device or a socket, not a file; to read from a pipe, give - (standard input).")


def _open_pipe(path: str) -> io.BufferedReader:
    """Open a named pipe once it has data: opening it earlier could block for ever."""
    if sys.platform == "win32":  # where no file is a named pipe
        raise NotImplementedError
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    ready = select.poll()
    ready.register(pipe, select.POLLIN)
    if not ready.poll(1000 * PIPE_SECONDS):
        os.close(pipe)
        raise InputError(
            f"{path}: no data came from this named pipe in {PIPE_SECONDS} seconds; start its writer first."
        )
    os.set_blocking(pipe, True)
    return open(pipe, "rb")


class Expanded(io.RawIOBase):
    """A decompressed stream that raises an error once it expands beyond the allowed ratio."""

    def __init__(self, expanded: IO[bytes], compressed: IO[bytes], name: str) -> None:
        """Compare the bytes read from `expanded` with the position in `compressed`; `name` begins error messages."""
        self._expanded, self._compressed, self._name = expanded, compressed, name
        self._count, self._ratio = 0, limit("MPIR_MAX_EXPANSION")

    def readable(self) -> bool:
        """True: the stream is read-only."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read into the buffer. Raises InputError where the content exceeds the allowed ratio."""
        view = memoryview(buffer)
        content = self._expanded.read(len(view))
        view[: len(content)] = content
        self._count += len(content)
        if self._count > max(_EXPANSION_FREE, self._ratio * self._compressed.tell()):
            raise expansion_error(self._name, self._ratio)
        return len(content)
