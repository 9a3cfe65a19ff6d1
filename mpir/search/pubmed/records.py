"""Read efetch records as documents, with the metadata that searchers want to see."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.corpora.pubmed import PUBMED, read_pubmed
from mpir.files.corpora.xml import read_elements, text_of
from mpir.search.pubmed.errors import DamagedAnswerError

RECORD_URL = "https://pubmed.ncbi.nlm.nih.gov"
_RECORDS = ("MedlineCitation", "BookDocument")
_YEARS = (".//PubDate/Year", ".//PubDate/MedlineDate", ".//ArticleDate/Year")


def read_records(content: bytes) -> dict[str, Document]:
    """The documents of an answer by PMID, with year, journal, authors, types and URL in their metadata.

    Raises:
        DamagedAnswerError: it is empty, truncated, or not PubMed XML.
    """
    if not content.strip():
        raise DamagedAnswerError("it is empty")
    if content.lstrip()[:1] != b"<" or content.lstrip()[:20].lower().startswith((b"<!doctype html", b"<html")):
        raise DamagedAnswerError("it is not XML")
    with tempfile.TemporaryDirectory(prefix="mpir") as folder:
        path = Path(folder) / "efetch.xml"
        path.write_bytes(content)
        try:
            documents = {document.id: document for document in read_pubmed([path])}
            details = dict(map(_details, read_elements(path, PUBMED, _RECORDS)))
        except InputError:
            raise DamagedAnswerError("its XML is truncated or not PubMed's") from None
    return {
        pmid: replace(document, metadata={**document.metadata, **details.get(pmid, {}), "url": record_url(pmid)})
        for pmid, document in documents.items()
    }


def record_url(pmid: str) -> str:
    """The URL of a record's page."""
    return f"{RECORD_URL}/{pmid}/"


def _details(record: ET.Element) -> tuple[str, dict[str, Any]]:
    years = filter(None, (text_of(record.find(path))[:4] for path in _YEARS))
    values = {
        "year": next(years, ""),
        "journal": text_of(record.find(".//Journal/Title")),
        "authors": [name for name in map(_author, record.findall(".//AuthorList/Author")) if name],
        "types": _texts(record.iterfind(".//PublicationTypeList/PublicationType")),
    }
    return text_of(record.find("PMID")), {name: value for name, value in values.items() if value}


def _author(author: ET.Element) -> str:
    names = (text_of(author.find(name)) for name in ("LastName", "ForeName"))
    return ", ".join(filter(None, names)) or text_of(author.find("CollectiveName"))


def _texts(elements: Iterable[ET.Element]) -> list[str]:
    return [text for text in map(text_of, elements) if text]
