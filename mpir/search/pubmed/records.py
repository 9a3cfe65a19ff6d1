"""Read efetch records as documents, with the metadata that searchers want to see."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.corpora.pubmed import read_pubmed
from mpir.search.pubmed.errors import DamagedAnswerError

RECORD_URL = "https://pubmed.ncbi.nlm.nih.gov"


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
        except InputError:
            raise DamagedAnswerError("its XML is truncated or not PubMed's") from None
    return {
        pmid: replace(document, metadata={**document.metadata, "url": record_url(pmid)})
        for pmid, document in documents.items()
    }


def record_url(pmid: str) -> str:
    """The URL of a record's page."""
    return f"{RECORD_URL}/{pmid}/"
