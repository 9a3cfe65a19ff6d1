"""Read documents from JSON values: an array, an object with an array, or several objects in sequence.

Examples are CSL-JSON of Zotero and pandoc, studies of ClinicalTrials.gov, responses of Europe PMC, Crossref and
Elasticsearch, and BioASQ's allMeSH files. Elements are streamed, so that arrays of gigabytes can be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpir.core.text.types import Document
from mpir.errors import InputError, format_value
from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.identifiers import ListId
from mpir.files.corpora.json_records import is_paper, records_inside, unwrapped
from mpir.files.corpora.jsonl import record_document
from mpir.files.corpora.unread_fields import report_unread
from mpir.files.json_stream import JsonStream

_LISTS = frozenset(
    {
        *("articles", "documents", "docs", "studies", "items", "records", "results", "result", "data", "papers"),
        *("works", "references", "publications", "corpus", "hits", "rows", "fullstudies", "collection"),
    }
)
"""Names of an object's list of documents."""
_AROUND_LISTS = frozenset(("resultlist", "response", "message", "hits", "data", "fullstudiesresponse", "results"))
"""Names of objects around such a list."""
_HELD = 1000
"""Maximum elements of a list that are read ahead, until the object around it turns out to be a record or none."""


def is_list_name(name: str) -> bool:
    """Whether this is a name for an object's list of documents."""
    return field_name(name) in _LISTS or field_name(name) in _AROUND_LISTS


def read_json_documents(path: str | Path) -> Iterator[Document]:
    """Stream the documents of a ``.json`` file: the elements of an array, or of one under a key such as "articles".

    Each element is read like a line of `read_jsonl`; studies of ClinicalTrials.gov are read by their modules. Ids of
    CSL-JSON are valid within their own list only.

    Raises:
        InputError: invalid JSON (the message has line and column), an element that is not an object, or as
            `read_jsonl`.
    """
    return report_unread(path, _documents(path))


def _documents(path: str | Path) -> Iterator[tuple[Document, Mapping[str, Any]]]:
    for element, line in _elements(path):
        location = f"{path}:{line}"
        if not isinstance(element, dict):
            raise InputError(f"{location}: expected a JSON object for each document (got {format_value(element)}).")
        record = unwrapped(element)
        document = record_document(record, location, needs_id=False)
        yield replace(document, id=ListId(document.id)) if _is_csl(record) else document, record


def _elements(path: str | Path) -> Iterator[tuple[Any, int]]:
    """Yield the documents of a file, each with the line on which it begins."""
    stream = JsonStream(path)
    while stream.next_character():
        if stream.next_character() == "[":
            yield from stream.elements()
        elif stream.next_character() == "{":
            yield from _of_object(stream)
        else:
            yield stream.value()


def _of_object(stream: JsonStream) -> Iterator[tuple[Any, int]]:
    """Yield the object itself if it is a record or has no list of documents, else the elements of its lists."""
    line, fields, held, has_list = stream.line, dict[str, Any](), list[tuple[Any, int]](), False
    for name in stream.names():
        elements = None if is_paper(fields) else _documents_of(stream, name)
        if elements is None:
            fields[name], _ = stream.value()
            continue
        has_list = True
        for element in elements:
            held.append(element)
            if len(held) >= _HELD:  # a list so long is the file's
                yield from held
                yield from elements
                held, fields = [], {}
    if is_paper(fields):
        yield fields, line
    elif has_list:
        yield from held
    else:
        yield from ((element, line) for element in records_inside(fields))


def _documents_of(stream: JsonStream, name: str) -> Iterator[tuple[Any, int]] | None:
    """Return the elements of the list that follows, if its name is one for documents; None for another value."""
    if field_name(name) in _LISTS and stream.next_character() == "[":
        return stream.elements()
    return _of_object(stream) if field_name(name) in _AROUND_LISTS and stream.next_character() == "{" else None


def _is_csl(record: Mapping[str, Any]) -> bool:
    return "type" in record and any(name in record for name in ("issued", "container-title", "author", "citation-key"))
