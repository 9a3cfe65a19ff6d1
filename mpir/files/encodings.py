"""Decode texts that are not UTF-8: UTF-16, as Windows writes it, and older encodings, usually Windows-1252."""

from __future__ import annotations

import codecs
import io
import logging
import re
from typing import IO, TYPE_CHECKING

from mpir.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

log = logging.getLogger(__name__)
_BLOCK = 2**16
_WESTERN = "cp1252"
_SINGLE_BYTE = (_WESTERN, "cp1251", "koi8_r", "cp1253")
_OTHER_ENCODINGS = ["gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "cp1251", "koi8_r", "cp1253"]
_RUN = re.compile(rb"[\x80-\xff]{4}")
"""A text with this many consecutive non-ASCII letters is not in a Western language."""
_PUNCTUATION_IN_UTF8 = re.compile(rb"\xe2\x80[\x80-\xbf]")
"""A dash or quotation mark that was pasted into a text in another encoding."""
_CLEARLY_UTF8 = re.compile("[\u00a0-\u017f\u0300-\u03ff\u0800-\U0010ffff]|[\u0180-\u02ff\u0400-\u07ff]{2}")
"""Letters that two Windows-1252 characters hardly ever form; its "É’" would be one rare letter."""


def wide_encoding(beginning: bytes) -> str | None:
    """Return the UTF-16 or UTF-32 encoding that the first four bytes of a text indicate; None for any other."""
    if beginning.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    zeros = "".join(str(int(byte == 0)) for byte in beginning[:4])
    return {"0101": "utf-16-le", "1010": "utf-16-be"}.get(zeros)


def as_utf8(stream: IO[bytes], name: str) -> IO[bytes]:
    """Return the stream, recoded as UTF-8 if it is UTF-16; `name` begins error messages."""
    peek = getattr(stream, "peek", None)
    encoding = wide_encoding(peek(4)[:4]) if peek else None
    return io.BufferedReader(_Recoded(stream, encoding, name)) if encoding else stream


class _Recoded(io.RawIOBase):
    """A stream that recodes a text as UTF-8."""

    def __init__(self, stream: IO[bytes], encoding: str, name: str) -> None:
        self._stream, self._encoding, self._name = stream, encoding, name
        self._decoder, self._held = codecs.getincrementaldecoder(encoding)(), b""

    def readable(self) -> bool:
        """True: the stream is read-only."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read into the buffer. Raises InputError for bytes that are invalid in the encoding."""
        view = memoryview(buffer)
        while not self._held and (block := self._stream.read(_BLOCK)):
            self._held = self._decoded(block, final=False)
        if not self._held:
            self._decoded(b"", final=True)
        content, self._held = self._held[: len(view)], self._held[len(view) :]
        view[: len(content)] = content
        return len(content)

    def _decoded(self, block: bytes, *, final: bool) -> bytes:
        try:
            return self._decoder.decode(block, final).encode()
        except UnicodeError as error:
            message = f"{self._name}: begins as {self._encoding.upper()} but is not ({error}); save the file as UTF-8."
            raise InputError(message) from error


class LineDecoder:
    """Decodes the lines of a file that should be UTF-8 but may be in an older encoding throughout.

    A file that mixes both is damaged and is refused.
    """

    def __init__(self, name: str) -> None:
        """`name` is the file's name, for messages."""
        self._name, self._encoding, self._is_utf8, self._line = name, "", False, 0

    def decode(self, line: bytes, number: int) -> str:
        """Return the text of a line.

        Raises:
            UnicodeDecodeError: the line fits no encoding, fits an older one after lines of UTF-8, or is damaged UTF-8.
            InputError: the line is UTF-8 after lines in a single-byte encoding.
        """
        if self._encoding:
            if self._encoding in _SINGLE_BYTE and _is_utf8(line):
                raise InputError(
                    f"{self._name}:{number}: is UTF-8, but line {self._line} is {self._encoding}; one is damaged, so "
                    "save the whole file as UTF-8."
                )
            return line.decode(self._encoding)
        try:
            text = line.decode("utf-8-sig")
            self._is_utf8 = True
            return text
        except UnicodeDecodeError:
            if self._is_utf8 or _is_damaged_utf8(line) or not (encoding := older_encoding(line)):
                raise
            log.warning(
                "%s:%d: is not UTF-8; read as %s, so save it as UTF-8 if letters are wrong",
                self._name,
                number,
                encoding,
            )
            self._encoding, self._line = encoding, number
            return line.decode(encoding)


def _is_utf8(line: bytes) -> bool:
    """Whether a non-ASCII line is UTF-8, and not by chance."""
    try:
        return _CLEARLY_UTF8.search(line.decode("utf-8-sig")) is not None
    except UnicodeDecodeError:
        return False


def _is_damaged_utf8(line: bytes) -> bool:
    """Whether a line that is not UTF-8 has more letters in UTF-8 than damaged places."""
    text = line.decode("utf-8", errors="replace")
    return len(_CLEARLY_UTF8.findall(text.replace("\ufffd", ""))) > text.count("\ufffd")


def older_encoding(text: bytes) -> str:
    """Return the likely encoding of a text that is not UTF-8, or ""; charset-normalizer recognises non-Western scripts.

    It cannot tell Windows-1252 from its relatives by a short text, so all Western texts are read as Windows-1252.
    """
    if not _RUN.search(_PUNCTUATION_IN_UTF8.sub(b"", text)):
        try:
            text.decode(_WESTERN)
            return _WESTERN
        except UnicodeDecodeError:
            pass
    from charset_normalizer import from_bytes

    best = from_bytes(text, cp_isolation=_OTHER_ENCODINGS).best()
    return best.encoding if best else ""
