"""The bibliographic fields of a record, as a document's metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpir.files.corpora.bibliography import (
    AUTHORS,
    JOURNAL,
    KEYWORDS,
    LANGUAGE,
    PAGES,
    RETRACTED,
    TYPES,
    YEAR,
    Bibliography,
    first_telling,
)
from mpir.files.corpora.field_uses import FieldUses, uses_of
from mpir.files.corpora.field_values import Value, text_of, texts_of
from mpir.files.corpora.listed_names import AddField, add_authors, add_groups, heading, names_adder, publication_type
from mpir.files.corpora.notes import trials_in_note
from mpir.files.corpora.placeholders import says_nothing
from mpir.files.corpora.publication_fields import (
    add_date,
    add_issn,
    add_journal,
    add_page_range,
    add_reference_type,
    join_pages,
)
from mpir.files.corpora.retractions import is_retracted_title
from mpir.files.corpora.source_fields import SOURCE_FIELDS

_NO = frozenset(("false", "no", "n", "f", "0", "0.0", "not retracted"))

_READERS: dict[str, AddField] = {
    YEAR: add_date,
    JOURNAL: add_journal,
    PAGES: add_page_range,
    "issn": add_issn,
    "reference_type": add_reference_type,
    AUTHORS: add_authors,
    "groups": add_groups,
    TYPES: names_adder(TYPES, every=False, plain=publication_type),
    KEYWORDS: names_adder(KEYWORDS, every=True, plain=heading),
    LANGUAGE: names_adder(LANGUAGE, every=False),
    "trials": names_adder("trials", every=True),
}


def read_bibliography(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bibliographic fields of a record's values, and its source fields; missing ones are left out."""
    metadata: dict[str, Any] = {}
    names = uses_of(tuple(values))
    for key, fields in names.bibliography:
        read = _READERS.get(key)
        if read is not None:
            read(metadata, [values[field] for field in fields])
        elif text := first_telling(map(text_of, map(values.__getitem__, fields))):
            metadata[key] = text
    if "firstpage" in metadata or "articlenumber" in metadata:
        join_pages(metadata)
    if trials := _noted_trials(values, names):
        metadata["trials"] = list(dict.fromkeys((*metadata.get("trials", ()), *trials)))
    if _is_retracted(values, names) and not Bibliography.of(metadata).is_retracted:
        metadata[TYPES] = [*metadata.get(TYPES, ()), RETRACTED]
    if source_fields := values.get(SOURCE_FIELDS):
        metadata[SOURCE_FIELDS] = dict(source_fields)
    return metadata


def _noted_trials(values: Mapping[str, Value], names: FieldUses) -> list[str]:
    """Return the numbers of trials in a record's notes."""
    return [trial for name in names.remarks for text in texts_of(values[name]) for trial in trials_in_note(text)]


def _is_retracted(values: Mapping[str, Value], names: FieldUses) -> bool:
    """Whether a record names a notice of retraction, or its title begins as publishers mark retracted papers."""
    for name in names.retractions:
        if any(not says_nothing(text) and text.lower() not in _NO for text in texts_of(values[name])):
            return True
    return any([is_retracted_title(text_of(values[name])) for name in names.titles])  # noqa: C419 - a list is faster
