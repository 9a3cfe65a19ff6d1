"""Read one large JSON value piece by piece: the elements of arrays and the names of objects."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mpir.errors import InputError
from mpir.files.encodings import as_utf8
from mpir.files.limits import limit_bytes, too_large
from mpir.files.read import open_bytes, place_of

_BLOCK = 2**16
_WHITE = " \t\r\n"
_NEAR = 64
"""An error this close to the end of the buffer may come from a value that continues beyond it."""


class JsonStream:
    """A JSON text that is read only as far as the next value needs; `line` is the current line, from 1."""

    def __init__(self, path: str | Path) -> None:
        """The file is opened when the first value is requested."""
        self._path, self._text, self._position = path, "", 0
        self.line, self._column = 1, 0
        self._blocks = self._read()
        self._decoder = json.JSONDecoder()
        self._longest = limit_bytes("MPIR_MAX_RECORD_MB")

    def next_character(self) -> str:
        """Return the next non-space character, or "" at the end of the text."""
        while True:
            while self._position < len(self._text) and self._text[self._position] in _WHITE:
                self._position += 1
            if self._position < len(self._text) or not self._read_more():
                return self._text[self._position : self._position + 1]

    def elements(self) -> Iterator[tuple[Any, int]]:
        """Yield the elements of the array that begins here, each with its line. Raises InputError as `value`."""
        self._take("[")
        while self.next_character() != "]":
            yield self.value()
            self._separator("]")
        self._take("]")

    def names(self) -> Iterator[str]:
        """Yield the names of the object that begins here; the caller reads each value before the next name."""
        self._take("{")
        while self.next_character() != "}":
            name, _ = self.value()
            if not isinstance(name, str):
                raise self._error("expected a name in quotation marks")
            self.next_character()
            self._take(":")
            self.next_character()
            yield name
            self._separator("}")
        self._take("}")

    def value(self) -> tuple[Any, int]:
        """Return the next value and its line.

        Raises:
            InputError: it is not JSON (line and column are named), or is longer than ``MPIR_MAX_RECORD_MB``.
        """
        self.next_character()
        self._drop()
        line, length = self.line, _BLOCK
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text)
                if end < len(self._text) or not self._read_more():
                    self._check_characters(value, self._text[:end])
                    self._position = end
                    return value, line
            except json.JSONDecodeError as error:
                unfinished = error.msg.startswith("Unterminated") or error.pos > len(self._text) - _NEAR
                if not unfinished or not self._read_more(length):
                    raise self._error(error.msg, error.pos) from error
                length *= 2
            except RecursionError as error:
                raise self._error("it is nested too deeply") from error
            except ValueError as error:
                raise self._error(str(error)) from error

    def _separator(self, closing: str) -> None:
        if self.next_character() != closing:
            self._take(",")
            if self.next_character() == closing:
                raise self._error("expected a value after the comma")

    def _take(self, character: str) -> None:
        if self.next_character() != character:
            raise self._error(f"expected {character!r}")
        self._position += 1

    def _check_characters(self, value: Any, text: str) -> None:
        if "\\ud" in text.lower():
            try:
                json.dumps(value, ensure_ascii=False).encode()
            except UnicodeEncodeError as error:
                raise self._error("a string holds half a character (an unpaired \\ud… escape)") from error

    def _error(self, problem: str, offset: int | None = None) -> InputError:
        before = self._text[: self._position if offset is None else offset]
        line = self.line + before.count("\n")
        column = len(before) - before.rfind("\n") + (0 if "\n" in before else self._column)
        where = self._text[len(before) : len(before) + 20]
        got = repr(where) if where else "the end of the text"
        return InputError(
            f"{place_of(self._path, line)}: not valid JSON at column {column} ({problem}, got {got}); correct the file."
        )

    def _drop(self) -> None:
        """Drop the consumed part of the buffer."""
        newlines = self._text.count("\n", 0, self._position)
        self.line += newlines
        last_end = self._text.rfind("\n", 0, self._position)
        self._column = self._position - last_end - 1 if newlines else self._column + self._position
        self._text, self._position = self._text[self._position :], 0

    def _read_more(self, length: int = _BLOCK) -> bool:
        """Read at least this many more characters; return whether there were any."""
        if self._position:
            self._drop()
        blocks = [self._text]
        while length > 0 and (block := next(self._blocks, "")):
            blocks.append(block)
            length -= len(block)
        self._text = "".join(blocks)
        if len(self._text) > self._longest + 2 * _BLOCK:
            raise too_large(place_of(self._path, self.line), "the value", "MPIR_MAX_RECORD_MB")
        return len(blocks) > 1

    def _read(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        with open_bytes(self._path) as raw_stream:
            stream = as_utf8(raw_stream, str(self._path))
            try:
                while block := stream.read(_BLOCK):
                    yield decoder.decode(block)
                yield decoder.decode(b"", final=True)
            except UnicodeDecodeError as error:
                message = f"{self._path}: byte 0x{error.object[error.start]:02x} is not UTF-8; save the file as UTF-8."
                raise InputError(message) from error
