"""Elements of XML files, one at a time, with errors that say where. Names are without their namespaces."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast
from xml.etree import ElementTree as ET
from xml.parsers.expat import errors

from mpir.errors import InputError, shortened
from mpir.io.limits import limit_bytes, too_large
from mpir.io.read import open_bytes

_PullParser: TypeAlias = "ET.XMLPullParser[Any]"
_BLOCK = 2**14
"""Bytes; the elements of a block live at once, and with larger ones the garbage collector takes a tenth of the time."""
_DEEPEST = 50_000
"""Elements inside each other; JATS has some 30. Time would grow with the square of what is nested more deeply."""
_ANNOTATIONS = ("annotation", "annotation-xml")
_BEHIND_ROOT = {
    errors.codes[message]
    for message in (
        errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT,
        errors.XML_ERROR_MISPLACED_XML_PI,
        errors.XML_ERROR_INVALID_TOKEN,
    )
}
"""What expat says of a document behind another one; the last of its byte order mark."""
_BLANK = b"\xef\xbb\xbf \t\r\n"
_WHITE = re.compile(r"[ \t\r\n]+")


def read_elements(path: str | Path, roots: Collection[str], tags: Collection[str]) -> Iterator[ET.Element]:
    """Stream the outermost elements of these names, the root among them; each is dropped once the next is asked for.

    A file may hold several XML documents, one behind the other, as requests to NCBI's efetch that are appended to it.

    Raises:
        InputError: the root has another name, the XML is malformed (line and column are named), an element and what
            stands before it are longer than ``MPIR_MAX_RECORD_MB``, or the file cannot be read or decoded.
    """
    parser = _Parser(path)
    root, outer = None, 0
    for event, element in parser.events(frozenset(tags)):
        if root is None or (parser.depth == 1 and event == "start"):
            root, outer = _checked(element, path, roots), 0
        if element.tag in tags:
            outer += 1 if event == "start" else -1
            if event == "end" and outer == 0:
                yield element
                root.clear()
                parser.size = 0


def root_tag(path: str | Path, roots: Collection[str]) -> str:
    """The name of the root element, which is one of these. Raises InputError as `read_elements` does."""
    _, root = next(_Parser(path).events())
    return _checked(root, path, roots).tag


def text_of(element: ET.Element | None) -> str:
    """The text with that of its inline tags (``<i>``, ``<sup>``, …), white space runs made one space.

    A formula's annotation, which repeats it in TeX, is left out of the text, and of the element.
    """
    if element is None:
        return ""
    if not len(element):  # as most are
        return white_normal(element.text or "")
    for annotation in (annotation for name in _ANNOTATIONS for annotation in list(element.iter(name))):
        annotation.text = None
        del annotation[:]
    return white_normal("".join(element.itertext()))


def white_normal(text: str) -> str:
    """The text with XML's white space made single spaces; thin and no-break spaces belong to the text and stay."""
    if "\n" in text or "  " in text or "\t" in text or "\r" in text:  # most texts have single spaces
        text = _WHITE.sub(" ", text)
    return text.strip(" ")


def _checked(root: ET.Element, path: str | Path, roots: Collection[str]) -> ET.Element:
    if root.tag not in roots:
        raise InputError(f"{path}: the XML begins with <{shortened(root.tag)}>; expected one of {', '.join(roots)}.")
    return root


class _Parser:
    """The events of a file, read block by block; `size` counts the bytes since its reader set it to 0."""

    def __init__(self, path: str | Path) -> None:
        self._path, self.size, self.depth = path, 0, 0
        self._root, self._lines = "", 0
        self._longest = limit_bytes("MPIR_MAX_RECORD_MB")

    def events(self, tags: frozenset[str] = frozenset()) -> Iterator[tuple[str, ET.Element]]:
        """Yield the start of each root, and the start and end of each element of these names.

        Raises:
            InputError: as `read_elements`.
        """
        with open_bytes(self._path) as stream, self._parse_errors():
            parser, recent = _new_parser(), b""
            while block := stream.read(_BLOCK):
                self.size += len(block)
                while block := self._without_blank(block):
                    recent = (recent + block)[-2 * _BLOCK :]
                    parser.feed(block)
                    try:
                        yield from self._parsed(parser, tags)
                        block = b""
                    except ET.ParseError as error:
                        block = self._next_document(error, recent)
                        parser, recent = _new_parser(), b""
                if self.size > self._longest:
                    raise too_large(str(self._path), "a record of the XML", "MPIR_MAX_RECORD_MB")
            if recent or not self._lines:
                parser.close()
                yield from self._parsed(parser, tags)

    def _without_blank(self, block: bytes) -> bytes:
        """A block of the file; outside of a document, without the white space that it begins with."""
        if self.depth:
            return block
        content = block.lstrip(_BLANK)
        self._lines += block.count(b"\n", 0, len(block) - len(content))
        return content

    def _next_document(self, error: ET.ParseError, recent: bytes) -> bytes:
        """The beginning of the document behind one that has ended. Raises the error where there is none."""
        if self.depth or not self._root or error.code not in _BEHIND_ROOT:
            raise error
        root = re.escape(self._root.encode())
        end = re.search(rb"</(?:[\w.-]+:)?%b\s*>|<(?:[\w.-]+:)?%b(?:\s[^<>]*)?/>" % (root, root), recent)
        block = recent[end.end() :].lstrip(_BLANK) if end else b""
        if not block.startswith(b"<"):
            raise error
        self._lines += error.position[0] - 1
        return block

    def _parsed(self, parser: _PullParser, tags: frozenset[str]) -> Iterator[tuple[str, ET.Element]]:
        depth = self.depth
        try:
            for event, element in cast("Iterator[tuple[str, ET.Element]]", parser.read_events()):
                tag = element.tag
                if event == "end":
                    depth -= 1
                else:
                    depth += 1
                    if tag[0] == "{":  # one vocabulary is expected, whichever namespace a publisher gives it
                        tag = element.tag = tag.partition("}")[2]
                    if depth == 1:
                        self.depth, self._root = depth, tag
                        yield event, element
                        continue
                    if depth > _DEEPEST:
                        raise self._too_deep()
                if tag in tags:
                    self.depth = depth
                    yield event, element
        finally:
            self.depth = depth

    def _too_deep(self) -> InputError:
        return InputError(
            f"{self._path}: the XML's elements are nested more than {_DEEPEST:,} deep; fetch the file again."
        )

    @contextmanager
    def _parse_errors(self) -> Iterator[None]:
        try:
            yield
        except ET.ParseError as error:
            line, column = error.position
            reason = str(error).split(":")[0]
            remedy = "write the character itself" if "entity" in reason else "fetch the file again"
            message = f"malformed XML at line {self._lines + line}, column {column + 1} ({reason}); {remedy}."
            raise InputError(f"{self._path}: {message}") from error
        except InputError:
            raise
        except (LookupError, ValueError) as error:  # what expat says of an encoding that it cannot read
            message = f"{self._path}: the XML cannot be decoded ({error}); convert the file to UTF-8."
            raise InputError(message) from error


def _new_parser() -> _PullParser:
    return ET.XMLPullParser(("start", "end"))
