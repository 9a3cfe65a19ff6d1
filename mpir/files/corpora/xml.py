"""Stream elements of XML files, with locations in errors and without namespaces in names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast
from xml.etree import ElementTree as ET
from xml.parsers.expat import errors

from mpir.core.text.characters import raised
from mpir.errors import InputError, shortened
from mpir.files.limits import limit_bytes, too_large
from mpir.files.read import open_bytes

_PullParser: TypeAlias = "ET.XMLPullParser[Any]"
_BLOCK = 2**14
"""Block size in bytes; elements of a block live together, and larger blocks slow the garbage collector."""
_DEEPEST = 256
"""Maximum nesting depth, as libxml2 has it; JATS has about 30. Readers may look at an element for each ancestor."""
_ANNOTATIONS = ("annotation", "annotation-xml")
_EXPONENT = re.compile(r"\s*[-−–+]?\s*\d{1,4}\s*")
_BEHIND_ROOT = {
    errors.codes[message]
    for message in (
        errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT,
        errors.XML_ERROR_MISPLACED_XML_PI,
        errors.XML_ERROR_INVALID_TOKEN,
    )
}
"""Expat's errors for a second document in the file; the last is for its byte order mark."""
_BLANK = b"\xef\xbb\xbf \t\r\n"
_WHITE = re.compile(r"[ \t\r\n]+")


def read_elements(path: str | Path, roots: Collection[str], tags: Collection[str]) -> Iterator[ET.Element]:
    """Stream the outermost elements of these names, including the root; each is freed when the next is requested.

    A file may contain several XML documents in sequence, such as appended responses of NCBI's efetch.

    Raises:
        InputError: another root, malformed XML (with line and column), an element that, with the text before it, is
            longer than ``MPIR_MAX_RECORD_MB``, or a file that cannot be read or decoded.
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
    """Return the name of the root element, one of these. Raises InputError as `read_elements`."""
    _, root = next(_Parser(path).events())
    return _checked(root, path, roots).tag


def text_of(element: ET.Element | None) -> str:
    """Return an element's text, including inline tags (``<i>``, ``<sup>``, …), with single spaces.

    Exponents become superscript characters, so that 10⁶ does not become 106; TeX annotations, which repeat a formula,
    are removed. The element is modified.
    """
    if element is None:
        return ""
    if not len(element):  # the common case
        return white_normal(element.text or "")
    mark_exponents(element)
    return white_normal("".join(element.itertext()))


def mark_exponents(element: ET.Element) -> None:
    """Write an element's numeric exponents and fractions as text, and remove TeX annotations from its formulas."""
    for parent in element.iter():
        before = parent.text or ""
        for child in parent:
            tag, text = child.tag, child.text or ""
            if tag in _ANNOTATIONS:
                child.text = None
                del child[:]
            elif (tag == "sup" or child.get("face") == "superscript") and before[-1:].isdigit() and not len(child):
                if _EXPONENT.fullmatch(text):
                    child.text = raised(text)
            elif tag == "msup" and len(child) == 2 and _EXPONENT.fullmatch(exponent := "".join(child[1].itertext())):
                if "".join(child[0].itertext()).strip()[-1:].isdigit():
                    del child[1][:]
                    child[1].text = raised(exponent)
            elif tag == "msqrt":
                child.text = f"√{text.lstrip()}"
            elif tag == "mfrac" and len(child) == 2:
                child[0].tail = "/"
            before = child.tail or "".join(child.itertext()) or before


def white_normal(text: str) -> str:
    """Replace runs of XML white space by single spaces; thin and no-break spaces are kept."""
    if "\n" in text or "  " in text or "\t" in text or "\r" in text:  # most texts have single spaces
        text = _WHITE.sub(" ", text)
    return text.strip(" ")


def _checked(root: ET.Element, path: str | Path, roots: Collection[str]) -> ET.Element:
    if root.tag not in roots:
        raise InputError(f"{path}: the XML begins with <{shortened(root.tag)}>; expected one of {', '.join(roots)}.")
    return root


class _Parser:
    """Parser events of a file, read in blocks; `size` counts bytes since it was last set to 0."""

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
                    raise too_large(str(self._path), "an XML record", "MPIR_MAX_RECORD_MB")
            if recent or not self._lines:
                parser.close()
                yield from self._parsed(parser, tags)

    def _without_blank(self, block: bytes) -> bytes:
        """Return the next block; between documents, without leading white space."""
        if self.depth:
            return block
        content = block.lstrip(_BLANK)
        self._lines += block.count(b"\n", 0, len(block) - len(content))
        return content

    def _next_document(self, error: ET.ParseError, recent: bytes) -> bytes:
        """Return the beginning of the next document. Raises the given error if there is none."""
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
                    if tag[0] == "{":  # publishers use several namespaces for one vocabulary
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
            f"{self._path}: the XML's elements are nested more than {_DEEPEST:,} deep; download the file again."
        )

    @contextmanager
    def _parse_errors(self) -> Iterator[None]:
        try:
            yield
        except ET.ParseError as error:
            line, column = error.position
            reason = str(error).split(":")[0]
            remedy = "write the character itself" if "entity" in reason else "download the file again"
            message = f"malformed XML at line {self._lines + line}, column {column + 1} ({reason}); {remedy}."
            raise InputError(f"{self._path}: {message}") from error
        except InputError:
            raise
        except (LookupError, ValueError) as error:  # expat's errors for an unknown encoding
            message = f"{self._path}: the XML cannot be decoded ({error}); convert the file to UTF-8."
            raise InputError(message) from error


def _new_parser() -> _PullParser:
    return ET.XMLPullParser(("start", "end"))
