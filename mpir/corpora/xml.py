"""Elements of XML files, one at a time, with errors that say where. Names are without their namespaces."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from mpir.errors import InputError, shortened
from mpir.io.read import open_bytes

_WHITE = re.compile(r"[ \t\r\n]+")


def read_elements(path: str | Path, roots: Collection[str], tags: Collection[str]) -> Iterator[ET.Element]:
    """Stream the outermost elements of these names, the root among them; each is dropped once the next is asked for.

    Raises:
        InputError: the root has another name, the XML is malformed (line and column are named), or the file cannot be
            read or decoded.
    """
    root, outer = None, 0
    for event, element in _events(path):
        if root is None:
            root = _checked(element, path, roots)
        if element.tag in tags:
            outer += 1 if event == "start" else -1
            if event == "end" and outer == 0:
                yield element
                root.clear()


def root_tag(path: str | Path, roots: Collection[str]) -> str:
    """The name of the root element, which is one of these. Raises InputError as `read_elements` does."""
    _, root = next(_events(path))
    return _checked(root, path, roots).tag


def text_of(element: ET.Element | None) -> str:
    """The text with that of its inline tags (``<i>``, ``<sup>``, …), white space runs made one space."""
    return "" if element is None else white_normal("".join(element.itertext()))


def white_normal(text: str) -> str:
    """The text with XML's white space made single spaces; thin and no-break spaces belong to the text and stay."""
    return _WHITE.sub(" ", text).strip(" ")


def _checked(root: ET.Element, path: str | Path, roots: Collection[str]) -> ET.Element:
    if root.tag not in roots:
        raise InputError(f"{path}: the XML begins with <{shortened(root.tag)}>; expected one of {', '.join(roots)}.")
    return root


def _events(path: str | Path) -> Iterator[tuple[str, ET.Element]]:
    with open_bytes(path) as stream:
        try:
            for event, element in ET.iterparse(stream, events=("start", "end")):
                if element.tag[0] == "{":  # one vocabulary is expected, whichever namespace a publisher gives it
                    element.tag = element.tag.partition("}")[2]
                yield event, element
        except ET.ParseError as error:
            line, column = error.position
            reason = str(error).split(":")[0]
            remedy = "write the character itself" if "entity" in reason else "fetch the file again"
            raise InputError(
                f"{path}: malformed XML at line {line}, column {column + 1} ({reason}); {remedy}."
            ) from error
        except InputError:
            raise
        except (LookupError, ValueError) as error:  # what expat says of an encoding that it cannot read
            raise InputError(f"{path}: the XML cannot be decoded ({error}); convert the file to UTF-8.") from error
