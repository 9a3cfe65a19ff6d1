"""Read EndNote libraries in XML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from mpir.core.text.types import Document
from mpir.files.corpora.field_values import Value
from mpir.files.corpora.record import document_of
from mpir.files.corpora.source_fields import own_notes
from mpir.files.corpora.unread_fields import report_unread
from mpir.files.corpora.xml import read_elements, text_of

ENDNOTE = ("xml", "records")
_RECORD = ("record",)
_NAMES = {
    "titles/title": "title",
    "abstract": "abstract",
    "electronic-resource-num": "doi",
    "accession-num": "accessionnumber",
    "rec-number": "recnumber",
    "dates/year": "year",
    "dates/pub-dates/date": "date",
    "periodical/full-title": "journal",
    "titles/secondary-title": "secondarytitle",
    "periodical/abbr-1": "abbreviation",
    "volume": "volume",
    "number": "issue",
    "pages": "pages",
    "language": "language",
    "isbn": "issn",
    "publisher": "publisher",
    "custom2": "c2",
    "work-type": "typeofwork",
    "remote-database-name": "remotedatabasename",
    "remote-database-provider": "remotedatabaseprovider",
}
"""Paths of a record's fields by their names in fields.py; texts are inside style elements."""
_LISTS = {"contributors/authors/author": "authors", "keywords/keyword": "keywords", "urls/related-urls/url": "urls"}
_OF_LIBRARY = frozenset(("database", "source-app", "ref-type", "foreign-keys", "key"))
"""Elements that describe the record's place in the library."""
_PARENTS = {path.partition("/")[0] for path in (*_NAMES, *_LISTS)}


def read_endnote(path: str | Path) -> Iterator[Document]:
    """Stream the records of a library.

    The id is the accession number, which is the PMID of PubMed's records, else the DOI, else the record's number, which
    identifies it within its own library only.

    Raises:
        InputError: malformed XML (the message has file, line and column), or XML of another kind.
    """
    return report_unread(path, _documents(path))


def _documents(path: str | Path) -> Iterator[tuple[Document, Mapping[str, str]]]:
    for record in read_elements(path, ENDNOTE, _RECORD):
        values: dict[str, Value] = {name: text_of(record.find(element)) for element, name in _NAMES.items()}
        values |= {name: list(map(text_of, record.findall(element))) for element, name in _LISTS.items()}
        kind = record.find("ref-type")
        values["reftype"] = "" if kind is None else kind.get("name", "")
        unread = {element.tag: _lines(element) for element in record if element.tag not in _PARENTS}
        values["notes"] = unread.get("notes", "")
        yield (
            document_of(values, {tag: text for tag, text in unread.items() if text and tag not in _OF_LIBRARY}),
            unread,
        )


def _lines(element: ET.Element) -> str:
    """Return the lines of a text, such as a note, without those that mpir wrote."""
    return own_notes("".join(element.itertext()))
