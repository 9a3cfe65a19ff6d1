"""Read documents from JSON objects with any key of fields.py: JSON lines, and elements of json_documents.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpir.core.text.types import TITLE, Document
from mpir.errors import InputError, format_names, format_value
from mpir.files.corpora.content import content_id
from mpir.files.corpora.field_keys import field_name, telling_key
from mpir.files.corpora.field_values import is_blank, is_nan
from mpir.files.corpora.fields import BODIES, IDS, PMIDS, TEXTS, TITLES
from mpir.files.corpora.identifiers import pmid_of
from mpir.files.corpora.json_records import unwrapped, with_metadata
from mpir.files.corpora.json_values import json_values, with_abstract
from mpir.files.corpora.placeholders import says_nothing, without_remarks
from mpir.files.corpora.record import bibliography_of
from mpir.files.corpora.source_fields import SOURCE_FIELDS, source_fields
from mpir.files.corpora.unread_fields import report_unread
from mpir.files.read import place_of, read_json_lines

ID_KEYS = ("pmid", "id", "_id", "docid", "docno", "doc_id", "pubmed_id", "uid", "cord_uid")
BODY_KEYS = ("abstract", "text", "contents", "content", "page_content", "body")
"""The most common names, for messages; fields.py has all."""


def read_jsonl(path: str | Path) -> Iterator[Document]:
    """Read documents one line at a time from a ``.jsonl`` or ``.jsonl.gz`` file, or from standard input (``-``).

    Keys may be any name of fields.py, in any case; of several keys for the id, title or body, the first with a value
    counts. Null, blank texts and placeholders are no values. A text may be a list of sentences.

    Raises:
        InputError: a line without an id or any text, or with a value of the wrong type (the message has file and line).
    """
    records = ((record, place_of(path, number)) for number, record in read_json_lines(path))
    return report_unread(path, ((record_document(record, location), record) for record, location in records))


def record_document(record: Mapping[str, Any], location: str, *, needs_id: bool = True) -> Document:
    """Build the document of a JSON object. Raises InputError as `read_jsonl`, with the location.

    Args:
        record: the object.
        location: its place, for messages.
        needs_id: refuse a record without an id, which otherwise gets one of its words.
    """
    record = with_abstract(unwrapped(record))
    whole = with_metadata(record)
    named = record if whole is record or not is_blank(record.get(telling_key(record, IDS))) else whole
    has_id = needs_id or not is_blank(named.get(telling_key(named, IDS)))
    identity = _checked_id(named, location) if has_id else ""
    check_has_text(whole, location)
    title, body = (_text_of(record, whole, names, location) for names in (TITLES, BODIES))
    fields = whole[SOURCE_FIELDS] if source_fields(whole) else None
    metadata = bibliography_of(json_values(whole), source_fields=fields)
    document = Document(identity, title, without_remarks(body), metadata=metadata)
    return document if has_id else replace(document, id=content_id(document))


def _text_of(record: Mapping[str, Any], whole: Mapping[str, Any], names: tuple[str, ...], location: str) -> str:
    """Return a record's text under one of these names, else its metadata's."""
    text = record_text(record, telling_key(record, names), location)
    return text if text or whole is record else record_text(whole, telling_key(whole, names), location)


def record_id(record: Mapping[str, Any]) -> Any:
    """Return a record's id, with whole floats as integers and PMIDs without prefix; None without an id."""
    key = telling_key(record, IDS)
    value = None if key is None else record[key]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        return pmid_of(value, prefixed=field_name(key) not in PMIDS) or value.strip() or value
    return value


def check_has_text(record: Mapping[Any, Any], location: str) -> None:
    """Raise InputError for a record that has fields besides an id, but no title or body."""
    if any(field_name(str(key)) in TEXTS for key in record):
        return
    if unknown_keys := [str(key)[:40] for key in record if field_name(str(key)) not in IDS]:
        raise InputError(
            f"{location}: the document has no text, but {format_names(unknown_keys)}; expected {TITLE} or one of "
            f"{', '.join(BODY_KEYS)} (which may be empty)."
        )


def record_text(record: Mapping[str, Any], key: Any, location: str) -> str:
    """Return the text of a key, or "" for a missing one or a placeholder; a list of sentences is joined by spaces.

    Raises:
        InputError: another value.
    """
    value = None if key is None else record[key]
    if isinstance(value, list) and all(isinstance(sentence, str) for sentence in value):
        value = " ".join(value)
    if not isinstance(value, str | None) and not is_nan(value):
        raise InputError(f"{location}: {key} is {format_value(value)}; expected a string, or a list of sentences.")
    return value if isinstance(value, str) and not says_nothing(value) else ""


def _checked_id(record: Mapping[str, Any], location: str) -> str:
    identity = record_id(record)
    if isinstance(identity, int) and not isinstance(identity, bool):
        return str(identity)
    if not isinstance(identity, str) or not identity.strip():
        id_text = "no id" if identity is None else f"the id {format_value(identity)}"
        raise InputError(
            f"{location}: the document has {id_text}; expected a text or number under one of {', '.join(ID_KEYS)}."
        )
    return identity
