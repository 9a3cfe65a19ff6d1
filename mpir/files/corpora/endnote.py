"""Read EndNote libraries in XML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from mpir.core.text.types import Document
from mpir.files.corpora.fields import document_of
from mpir.files.corpora.unread import report_unread
from mpir.files.corpora.xml import read_elements, text_of

ENDNOTE = ("xml", "records")
_RECORD = ("record",)
_NAMES = {
    "titles/title": "title",
    "abstract": "abstract",
    "electronic-resource-num": "doi",
    "accession-num": "accessionnumber",
    "rec-number": "recnumber",
}
"""Paths of a record's fields by their names in fields.py; texts are inside style elements."""
_OF_PUBMED = ("nlm", "medline", "pubmed")


def read_endnote(path: str | Path) -> Iterator[Document]:
    """Stream the records of a library.

    The id is the accession number, which is the PMID of PubMed's records, else the DOI, else the record's number, which
    identifies it within its own library only.

    Raises:
        InputError: malformed XML (the message has file, line and column), or XML of another kind.
    """
    return report_unread(path, _documents(path))


def _documents(path: str | Path) -> Iterator[tuple[Document, Mapping[str, str]]]:
    for number, record in enumerate(read_elements(path, ENDNOTE, _RECORD), 1):
        values = {name: text_of(record.find(element)) for element, name in _NAMES.items()}
        if _is_of_pubmed(record):
            values["pmid"] = values["accessionnumber"]
        unread = {element.tag: text_of(element) for element in record if element.tag not in _NAMES}
        yield document_of(values, f"{Path(path).name}:{number}"), unread


def _is_of_pubmed(record: ET.Element) -> bool:
    sources = (text_of(record.find(f"remote-database-{name}")).lower() for name in ("name", "provider"))
    return any(name in source for source in sources for name in _OF_PUBMED)
