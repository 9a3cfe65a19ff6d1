"""The record in a JSON object: the object itself, or one inside it, completed by its metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

from mpir.files.corpora.bibliography import AUTHORS, JOURNAL, YEAR
from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.field_values import is_blank
from mpir.files.corpora.fields import BIBLIOGRAPHY, BODIES, DOIS, PMIDS, TEXTS, TITLES

_AROUND_RECORD = (
    *("source", "study", "document", "data", "attributes", "record", "article", "paper", "item", "doc", "node"),
    *("publication", "entry", "entity", "fields"),
)
"""Names of an object's record, if the object has no title or body: Elasticsearch's _source, Milvus's entity."""
_METADATA = ("metadata", "meta")
"""Names of an object with further fields of its record, as mpir, BEIR and LangChain write them."""
_OF_ANYTHING = frozenset(("description", "summary"))
"""Bodies that a list of documents may have, too."""
_OF_PAPERS = frozenset((*PMIDS, *DOIS, *BIBLIOGRAPHY[AUTHORS], *BIBLIOGRAPHY[JOURNAL], *BIBLIOGRAPHY[YEAR]))
_TITLES, _BODIES = frozenset(TITLES), frozenset(BODIES)


def has_text(record: Mapping[str, Any]) -> bool:
    """Whether a record has a field for a title or body."""
    return _any_text(tuple(record)) if len(record) <= 64 else _any_text.__wrapped__(tuple(record))


@lru_cache(maxsize=2**8)  # the records of a file share a few sets of names
def _any_text(names: tuple[Any, ...]) -> bool:
    return any(field_name(str(name)) in TEXTS for name in names)


def is_paper(record: Mapping[str, Any]) -> bool:
    """Whether an object is a record itself, so that a list in it is a field: its references, its supplements.

    It has a title and a body, or one of them and a PMID, DOI, author, journal or year.
    """
    names = {field_name(str(name)) for name, value in record.items() if not is_blank(value)}
    texts = {name for name in names & TEXTS if any(_is_text(record[key]) for key in record if field_name(key) == name)}
    if texts & _TITLES and texts & (_BODIES - _OF_ANYTHING):
        return True
    return bool(texts) and not names.isdisjoint(_OF_PAPERS)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(text, str) for text in value))


def unwrapped(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the record in an object: itself if it has a title or body, else the one inside with the fields around it.

    A study of ClinicalTrials.gov is one flat record of the fields of its modules that contain text.
    """
    if has_text(record):
        return record
    for name in _AROUND_RECORD:
        if (inner := _inner(record, name)) and has_text(inside := unwrapped(inner)):
            return {**{key: value for key, value in record.items() if value is not inner}, **inside}
    section = _inner(record, "protocolsection")
    return _study(section) if section else record


def with_metadata(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record with the fields of its metadata that it does not have itself."""
    inner = next((value for name in _METADATA if isinstance(value := record.get(name), dict)), None)
    if not inner:
        return record
    own = {field_name(str(name)) for name, value in record.items() if not is_blank(value)}
    return {**{name: value for name, value in inner.items() if field_name(str(name)) not in own}, **record}


def records_inside(fields: Mapping[str, Any]) -> Iterator[Any]:
    """Yield an object itself or, if it has no text but holds objects with texts, these: a list, or objects by id."""
    if has_text(unwrapped(fields)):
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


def holds_records(value: Mapping[str, Any]) -> bool:
    """Whether an object without a text holds objects with texts, in a list or by id."""
    inner = chain.from_iterable(child if isinstance(child, list) else (child,) for child in value.values())
    return any(map(_is_record, inner))


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and has_text(unwrapped(value))


def _study(section: Mapping[str, Any]) -> dict[str, Any]:
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
    value = next((value for key, value in record.items() if field_name(str(key)).lstrip("_") == name), None)
    return value if isinstance(value, dict) else {}
