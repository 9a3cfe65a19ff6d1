"""Read plain or compressed files, line by line, with errors that name the location."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from mpir.errors import InputError, shortened
from mpir.files.encodings import LineDecoder, as_utf8
from mpir.files.limits import Expanded, limit_bytes, open_regular, too_large
from mpir.files.paths import checked_path, path_text

STDIN = "-"
GZIP = b"\x1f\x8b"
_BLOCK = 2**20


@contextmanager
def open_bytes(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes: plain, gzip-compressed (by suffix or content), or standard input (``-``).

    Raises:
        InputError: the file is missing, is a folder or a device, or its compressed data is truncated,
            damaged or out of proportion (``MPIR_MAX_EXPANSION``).
    """
    try:
        if str(path) == STDIN:
            if sys.stdin is None:
                raise InputError("standard input is closed; pipe data into it.")
            yield sys.stdin.buffer
            return
        with open_regular(path_text(path)) as stream:
            compressed = stream.peek(2).startswith(GZIP)  # whatever the suffix
            yield _expanded(stream, str(path)) if compressed else stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path}: the gzip data is truncated or damaged ({error}); fetch or compress the file again."
        ) from error
    except OSError as error:
        raise InputError(
            f"{shortened(str(path), 200)}: cannot be read ({error.strerror or error}); check the path and its "
            "permissions."
        ) from error


def _expanded(stream: IO[bytes], name: str) -> IO[bytes]:
    return io.BufferedReader(Expanded(cast("IO[bytes]", gzip.GzipFile(fileobj=stream)), stream, name), _BLOCK)


def found_file(path: str | Path) -> Path | None:
    """Return the path of an existing file, with ``~`` expanded; None for any other path, even an invalid one."""
    try:
        checked = checked_path(path)
        return checked if checked.is_file() else None
    except (OSError, InputError):  # a name that is too long, or an unknown home folder
        return None


def found_folder(path: str | Path) -> Path | None:
    """Return the path of an existing folder, like `found_file`; None for any other, such as a hub name."""
    try:
        checked = checked_path(path)
        return checked if checked.is_dir() else None
    except (OSError, InputError):
        return None


def at_terminal(stream: IO[Any] | None) -> bool:
    """Whether a standard stream is a terminal; False for a closed one."""
    return stream is not None and stream.isatty()


def place_of(path: str | Path, line: int) -> str:
    """Return the location of a line of a file or of standard input, for messages."""
    return f"{'standard input' if str(path) == STDIN else path}:{line}"


def read_lines(path: str | Path, *, old_ends: bool = False, old_encodings: bool = False) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end) of a UTF-8 or UTF-16 text file, one line in memory at a time.

    Args:
        old_ends: whether a lone carriage return ends a line, too, as in spreadsheets' "CSV (Macintosh)".
        old_encodings: whether the file may be in Windows-1252 or another old encoding (encodings.py); this is logged.

    Raises:
        InputError: unreadable, damaged, not UTF-8, or a line beyond ``MPIR_MAX_RECORD_MB`` (the line is named).
    """
    longest = limit_bytes("MPIR_MAX_RECORD_MB")
    decoder = LineDecoder(str(path)) if old_encodings else None
    with open_bytes(path) as raw_stream:
        stream = as_utf8(raw_stream, str(path))
        lines = _split_lines(stream, longest) if old_ends else iter(lambda: stream.readline(longest + 1), b"")
        for number, line in enumerate(lines, 1):
            if len(line) > longest:
                raise too_large(place_of(path, number), "the line", "MPIR_MAX_RECORD_MB")
            content = line.rstrip(b"\r\n")
            try:
                if content.isascii():
                    text = content.decode("ascii")
                else:
                    text = decoder.decode(content, number) if decoder else content.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise _not_utf8(content, place_of(path, number), error) from error
            yield number, text


def _split_lines(stream: IO[bytes], longest: int) -> Iterator[bytes]:
    """The lines of a stream with any of the three line ends; a line that is too long is yielded as far as read."""
    held = b""
    while block := stream.read(_BLOCK):
        *lines, held = (held + block).splitlines(keepends=True)
        if held.endswith(b"\n") or len(held) > longest:  # a line feed may follow a carriage return
            lines, held = [*lines, held], b""
        yield from lines
    yield from held.splitlines()


def read_json_lines(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) of a JSON-lines file; blank lines are skipped.

    Raises:
        InputError: a line that is not a JSON object (file and line are named).
    """
    for number, line in read_lines(path):
        if line.strip():
            yield number, parse_object(line, place_of(path, number))


def parse_object(text: str, location: str) -> dict[str, Any]:
    """Parse one JSON object; `location` (such as ``file:line``) begins an error's message.

    Raises:
        InputError: the text is not JSON, or JSON but not an object.
    """
    value = _parse(text, location)
    if not isinstance(value, dict):
        raise InputError(
            f"{location}: expected a JSON object, found {_type_name(value)}; write one object such as {{…}}."
        )
    return value


def read_json(path: str | Path) -> dict[str, Any]:
    """Read a file with one JSON object.

    Raises:
        InputError: unreadable, too large, not UTF-8, not JSON (line and column are named), or not an object.
    """
    return parse_object(_decode(read_bytes(path), str(path)), str(path))


def read_json_value(path: str | Path) -> Any:
    """Read a file with one JSON value of any type. Raises InputError as `read_json`, except for the type."""
    return _parse(_decode(read_bytes(path), str(path)), str(path))


def read_bytes(path: str | Path) -> bytes:
    """Read a whole file, decompressed.

    Raises:
        InputError: it cannot be read, or is larger than ``MPIR_MAX_FILE_MB``.
    """
    largest = limit_bytes("MPIR_MAX_FILE_MB")
    with open_bytes(path) as stream:
        content = stream.read(largest + 1)
    if len(content) > largest:
        raise too_large(str(path), "the file", "MPIR_MAX_FILE_MB")
    return content


def read_text(path: str | Path) -> str:
    """Read a whole text file, in UTF-8, UTF-16 or an old encoding (encodings.py).

    Raises:
        InputError: it cannot be read, or is larger than ``MPIR_MAX_FILE_MB``.
    """
    largest, size, lines = limit_bytes("MPIR_MAX_FILE_MB"), 0, list[str]()
    for _, line in read_lines(path, old_ends=True, old_encodings=True):
        size += len(line)
        if size > largest:
            raise too_large(str(path), "the file", "MPIR_MAX_FILE_MB")
        lines.append(line)
    return "\n".join(lines)


def _decode(content: bytes, location: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(content, location, error) from error


def _not_utf8(content: bytes, location: str, error: UnicodeDecodeError) -> InputError:
    line = content.count(b"\n", 0, error.start) + 1
    where = location if content.count(b"\n") == 0 else f"{location}:{line}"
    byte = content[error.start]
    return InputError(
        f"{where}: byte 0x{byte:02x} is not UTF-8; save the file as UTF-8 (in Excel: CSV UTF-8), "
        "or convert it, for instance with iconv."
    )


def _parse(text: str, location: str) -> Any:
    try:
        value = json.loads(text)
        if "\\ud" in text.lower():  # an escape may hold an unpaired surrogate, which cannot be written again
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError as error:
        message = f"{location}: a string holds half a character (an unpaired \\ud… escape); write both halves or none."
        raise InputError(message) from error
    except json.JSONDecodeError as error:
        rest_of_text = repr(text[error.pos : error.pos + 20]) if error.pos < len(text) else "the end of the text"
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(
            f"{location}: not valid JSON at {where} ({error.msg}, found {rest_of_text}); correct the file there."
        ) from error
    except ValueError as error:
        raise InputError(f"{location}: a number has more digits than mpir reads ({error}).") from error
    except RecursionError as error:
        raise InputError(f"{location}: the JSON is nested too deeply; expected a flat record.") from error


def _type_name(value: Any) -> str:
    names = {list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number", type(None): "null"}
    return names.get(type(value), type(value).__name__)
