"""Read documents from JSON values: an array, an object with an array, or several objects in sequence.

Examples are CSL-JSON of Zotero and pandoc, studies of ClinicalTrials.gov, responses of Europe PMC, Crossref and
Elasticsearch, and BioASQ's allMeSH files. Elements are streamed, so that arrays of gigabytes can be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from mpir.core.text.types import Document
from mpir.errors import InputError, format_value
from mpir.files.corpora.fields import TEXTS, field_name, report_unread
from mpir.files.corpora.identifiers import ListId
from mpir.files.corpora.jsonl import record_document
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
_AROUND_RECORD = ("_source", "study", "document")


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
        record = flattened(element)
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
    """Yield the elements of an object's lists of documents or, if it has none, the object itself."""
    line, fields, has_list = stream.line, dict[str, Any](), False
    for name in stream.names():
        is_list = field_name(name) in _LISTS and stream.next_character() == "["
        if is_list:
            has_list = True
            yield from stream.elements()
        elif field_name(name) in _AROUND_LISTS and stream.next_character() == "{":
            has_list = True
            yield from _of_object(stream)
        else:
            fields[name], _ = stream.value()
    if not has_list:
        yield from ((element, line) for element in _records(fields))


def _records(fields: dict[str, Any]) -> Iterator[Any]:
    """Yield an object itself or, if it has no text but holds objects with texts, these: a list, or objects by id."""
    if has_text(flattened(fields)):
        yield fields
        return
    lists = [value for value in fields.values() if isinstance(value, list) and any(map(_is_record, value))]
    by_id = {name: value for name, value in fields.items() if _is_record(value)}
    if lists:
        yield from chain.from_iterable(lists)
    elif by_id:
        yield from ({"id": name, **value} for name, value in by_id.items())
    else:
        yield fields


def holds_records(value: dict[str, Any]) -> bool:
    """Whether an object without a text holds objects with texts, in a list or by id."""
    inner = chain.from_iterable(child if isinstance(child, list) else (child,) for child in value.values())
    return any(map(_is_record, inner))


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and has_text(flattened(value))


def has_text(record: Mapping[str, Any]) -> bool:
    """Whether a record has a field for a title or body."""
    return any(field_name(name) in TEXTS for name in record)


def flattened(record: dict[str, Any]) -> dict[str, Any]:
    """Return a flat record; for a study of ClinicalTrials.gov, the fields of its modules that contain text."""
    for name in _AROUND_RECORD:
        inner = next((value for key, value in record.items() if field_name(key) == field_name(name)), None)
        if isinstance(inner, dict):
            return flattened({**{key: value for key, value in record.items() if value is not inner}, **inner})
    section = _inner(record, "protocolsection")
    if not section:
        return record
    names, texts = _inner(section, "identificationmodule"), _inner(section, "descriptionmodule")
    values = {field_name(key): value for key, value in (*names.items(), *texts.items())}
    bodies = [values[name] for name in ("briefsummary", "detaileddescription") if isinstance(values.get(name), str)]
    title = values.get("brieftitle") or values.get("officialtitle")
    status, conditions = _inner(section, "statusmodule"), _inner(section, "conditionsmodule")
    dates = {field_name(key): value for key, value in status.items()}
    return {
        "nctId": values.get("nctid"),
        "title": title,
        "abstract": "\n\n".join(bodies),
        "date": _inner(dates, "startdatestruct").get("date"),
        "keywords": [word for name in ("conditions", "keywords") for word in conditions.get(name) or ()],
    }


def _inner(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = next((value for key, value in record.items() if field_name(key) == name), None)
    return value if isinstance(value, dict) else {}


def _is_csl(record: Mapping[str, Any]) -> bool:
    return "type" in record and any(name in record for name in ("issued", "container-title", "author", "citation-key"))
