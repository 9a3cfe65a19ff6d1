"""Read services' answers: efetch records as documents, and JSON value by value, as no format can be relied on."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

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


def read_object(content: bytes) -> dict[str, Any]:
    """The JSON object of an answer. Raises DamagedAnswerError for anything else."""
    if not content.strip():
        raise DamagedAnswerError("it is empty")
    try:
        value = json.loads(content, strict=False)  # NCBI's messages contain raw control characters
    except (ValueError, RecursionError):
        raise DamagedAnswerError("it is truncated JSON or not JSON") from None
    if not isinstance(value, dict):
        raise DamagedAnswerError("its JSON is not an object")
    return value


def member(value: Mapping[str, Any], name: str, types: type | tuple[type, ...]) -> Any:
    """A member of an object. Raises DamagedAnswerError where it is missing or of another type."""
    if not isinstance(value.get(name), types):
        raise DamagedAnswerError(f"it has no {name}")
    return value[name]


def count(value: Mapping[str, Any], name: str) -> int:
    """A member that is a whole number, possibly as text. Raises DamagedAnswerError for anything else."""
    text = str(value.get(name, ""))
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise DamagedAnswerError(f"it has no {name}")
    return int(text)


def texts(value: object) -> list[str]:
    """The strings of a list, or a single string as a list; empty for anything else."""
    if isinstance(value, str):
        return [value]
    return [entry for entry in value if isinstance(entry, str) and entry] if isinstance(value, list) else []
