"""Build documents of records: id, title and body, and every bibliographic field and id as metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mpir.core.text.types import Document
from mpir.files.corpora.content import content_id
from mpir.files.corpora.field_uses import uses_of
from mpir.files.corpora.field_values import Value, telling_name, text_of
from mpir.files.corpora.identifiers import pmid_of
from mpir.files.corpora.placeholders import without_remarks
from mpir.files.corpora.record_bibliography import read_bibliography
from mpir.files.corpora.record_ids import document_id, noted_ids, record_pmid, registered_ids
from mpir.files.corpora.record_metadata import RecordMetadata
from mpir.files.corpora.source_fields import SOURCE_FIELDS


def document_of(values: Mapping[str, Value], source_fields: Mapping[str, Any] | None = None) -> Document:
    """Build the document of a record, with its bibliographic fields and ids as metadata.

    A record without an id gets one of its words (`content_id`).

    Args:
        values: the record's texts, stripped, by normalised field name (`field_name`); several values of a field are a
            list.
        source_fields: the fields to keep as the source has them (source_fields.py).
    """
    names = uses_of(tuple(values))
    noted = noted_ids(values, names)
    name = telling_name(values, names.ids)
    id_text = text_of(values[name]) if name else ""
    pmid = record_pmid(values, names, noted) or pmid_of(id_text, prefixed=True)
    identity = document_id(name, id_text, pmid)
    title, body = telling_name(values, names.titles), telling_name(values, names.bodies)
    abstract = without_remarks(text_of(values.get(body, "")))
    metadata = _metadata(values, registered_ids(values, names, pmid, noted), source_fields)
    document = Document(identity, text_of(values.get(title, "")), abstract, metadata=metadata)
    return document if identity else replace(document, id=content_id(document))


def bibliography_of(
    values: Mapping[str, Value], pmid: str = "", source_fields: Mapping[str, Any] | None = None
) -> RecordMetadata:
    """Return a record's ids and bibliographic fields as a document's metadata; missing ones are left out.

    Args:
        values: as of `document_of`.
        pmid: the record's PMID, if it is known already.
        source_fields: as of `document_of`.
    """
    names = uses_of(tuple(values))
    noted = noted_ids(values, names)
    ids = registered_ids(values, names, pmid or record_pmid(values, names, noted), noted)
    return _metadata(values, ids, source_fields)


def _metadata(
    values: Mapping[str, Value], ids: Mapping[str, str], source_fields: Mapping[str, Any] | None
) -> RecordMetadata:
    texts = {**values, SOURCE_FIELDS: source_fields} if source_fields else values
    return RecordMetadata(ids, texts, read_bibliography)
