"""Documents from JSON lines, under the key names that the field's collections use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mpir.errors import InputError, format_names, format_value
from mpir.io.read import place_of, read_json_lines
from mpir.text.types import TITLE, Document

ID_KEYS = ("pmid", "id", "_id", "docid")
BODY_KEYS = ("abstract", "text", "contents", "content", "page_content", "body")


def read_jsonl(path: str | Path) -> Iterator[Document]:
    """Read documents one line at a time from a ``.jsonl`` or ``.jsonl.gz`` file, or from standard input (``-``).

    The id is the first of pmid, id, _id, docid that says something; the body the first of abstract, text, contents,
    content, page_content, body that does. What is null or blank says nothing.

    Raises:
        InputError: a line without an id or any text, or with a value of the wrong type (file and line are named).
    """
    for number, record in read_json_lines(path):
        yield _document(record, place_of(path, number))


def _document(record: dict[str, Any], location: str) -> Document:
    identity = record_id(record)
    if isinstance(identity, int) and not isinstance(identity, bool):
        identity = str(identity)
    if not isinstance(identity, str) or not identity.strip():
        id_text = "no id" if identity is None else f"the id {format_value(identity)}"
        raise InputError(
            f"{location}: the document has {id_text}; expected a text or number under one of {', '.join(ID_KEYS)}."
        )
    body = body_key(record, location)
    return Document(identity.strip(), _text(record, TITLE, location), _text(record, body, location))


def record_id(record: Mapping[str, Any]) -> Any:
    """What a record has for an id: the first of its keys that says something."""
    return record.get(telling(record, ID_KEYS))


def body_key(record: Mapping[str, Any], location: str) -> str:
    """The key that holds a record's body: the first that says something, or else one that may be missing or null.

    Raises:
        InputError: there are other keys than those of an id, but none that holds a text: it may go by another name.
    """
    unknown_keys = [str(key)[:40] for key in record if key not in ID_KEYS]
    if unknown_keys and not any(key in record for key in (TITLE, *BODY_KEYS)):
        raise InputError(
            f"{location}: the document has no text, but {format_names(unknown_keys)}; expected {TITLE} or one of "
            f"{', '.join(BODY_KEYS)} (which may be empty)."
        )
    return telling(record, BODY_KEYS)


def telling(record: Mapping[str, Any], keys: Sequence[str]) -> str:
    """The first of the keys under which a record says something, else the first that it has, else the first."""
    present = [key for key in keys if record.get(key) is not None]
    return next((key for key in present if not _is_blank(record[key])), present[0] if present else keys[0])


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def _text(record: dict[str, Any], key: str, location: str) -> str:
    value = record.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{location}: {key} is {format_value(value)}; expected a string.")
    return value
