"""Read references of Web of Science (.ciw, .txt) and in EndNote's Refer format (.enw).

    FN Clarivate Analytics Web of Science        %0 Journal Article
    PT J                                         %A Doe, J.
    TI A title that goes on                      %T A title
       in the next line                          %X An abstract
    AB An abstract                               %R 10.1000/182
    DI 10.1000/182
    UT WOS:000200000000001
    ER

rispy is not used for Web of Science, because it holds the whole file in memory, loses line numbers, and stops at an
unclosed record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.corpora.fields import document_of
from mpir.files.corpora.placeholders import says_nothing
from mpir.files.corpora.unread import report_unread
from mpir.files.limits import limit_bytes, too_large
from mpir.files.read import place_of, read_lines

Fields = dict[str, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """The syntax of a tagged format; `names` maps its tags to field names, and other tags are ignored."""

    tag: re.Pattern[str]
    first: str
    last: str
    names: Mapping[str, str]
    example: str


WEB_OF_SCIENCE = Syntax(
    tag=re.compile(r"([A-Z][A-Z0-9])(?: (.*)|$)"),
    first="PT",
    last="ER",
    names={"TI": "title", "AB": "abstract", "DI": "doi", "UT": "ut", "PM": "pmid"},
    example='"PT J" and "TI A title"',
)
REFER = Syntax(
    tag=re.compile(r"(%[0-9A-Z@!#$&(*+<=>?^~\[])(?: (.*)|$)"),
    first="%0",
    last="",
    names={"%T": "title", "%X": "abstract", "%R": "doi", "%M": "accessionnumber", "%F": "citationkey"},
    example='"%0 Journal Article" and "%T A title"',
)


def read_web_of_science(path: str | Path) -> Iterator[Document]:
    """Stream the records of a file in Web of Science's tagged format; the id is the PMID, else UT, else the DOI.

    Raises:
        InputError: the file has no record, or cannot be read.
    """
    return _read(path, WEB_OF_SCIENCE)


def read_refer(path: str | Path) -> Iterator[Document]:
    """Stream the references of a file in the Refer format of EndNote and Zotero; the id is %M, else the DOI, else %F.

    Raises:
        InputError: the file has no reference, or cannot be read.
    """
    return _read(path, REFER)


def _read(path: str | Path, syntax: Syntax) -> Iterator[Document]:
    empty = True
    for document in report_unread(path, _documents(path, syntax)):
        empty = False
        yield document
    if empty:
        raise InputError(f"{path}: no references found; expected lines such as {syntax.example}.")


def _documents(path: str | Path, syntax: Syntax) -> Iterator[tuple[Document, Fields]]:
    for line, fields in records(path, syntax):
        values = {syntax.names[tag]: _text(texts) for tag, texts in fields.items() if tag in syntax.names}
        unread = {tag: texts for tag, texts in fields.items() if tag not in syntax.names}
        yield document_of(values, f"{Path(path).name}:{line}"), unread


def _text(texts: list[str]) -> str:
    return next((text for text in texts if not says_nothing(text)), "")


def records(path: str | Path, syntax: Syntax) -> Iterator[tuple[int, Fields]]:
    """Yield the first line of each record, and its values by tag, each in one line.

    A record ends at its end tag; without one, before the first tag of the next record, or before a tag after a blank
    line.
    """
    begin, size, longest = 0, 0, limit_bytes("MPIR_MAX_RECORD_MB")
    fields, values, after_blank = dict[str, list[list[str]]](), list[list[str]](), False
    for number, line in read_lines(path, old_ends=True, old_encodings=True):
        size += len(line)
        if size > longest:
            raise too_large(place_of(path, begin), "the reference", "MPIR_MAX_RECORD_MB")
        match = syntax.tag.match(line)
        if not match:
            after_blank = not line.strip()
            if values and not after_blank:
                values[-1].append(line.strip())
            continue
        tag, value = match[1], (match[2] or "").strip()
        if fields and (tag == syntax.last or (tag in fields and (tag == syntax.first or after_blank))):
            yield begin, _joined(fields)
            size, fields, values = 0, {}, []
        after_blank = False
        if tag == syntax.last or tag in _AROUND:
            values = []
            continue
        begin = begin if fields else number
        values = fields.setdefault(tag, [])
        values.append([value])
    if fields:
        yield begin, _joined(fields)


_AROUND = ("FN", "VR", "EF")
"""Tags that describe the file, not a record."""


def _joined(fields: Mapping[str, list[list[str]]]) -> Fields:
    return {tag: [" ".join(lines).strip() for lines in values] for tag, values in fields.items()}
