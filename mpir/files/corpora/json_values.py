"""Texts of nested JSON values: authors as objects, dates as parts, ids in an object, and OpenAlex's abstracts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from mpir.files.corpora.bibliography import AUTHORS, reference_type_of
from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.field_values import Value, is_blank
from mpir.files.corpora.fields import BIBLIOGRAPHY, FURTHER_IDS, IDS, READ, RETRACTIONS, TEXTS
from mpir.files.corpora.placeholders import says_nothing

_NAMES = (
    "displayname",
    "name",
    "fullname",
    "descriptorname",
    "title",
    "literal",
    "pubtype",
    "keyword",
    "tag",
    "meshheading",
    "collectivename",
    "value",
    "term",
)
"""Names of an object's own name, by preference."""
_SUFFIXES = ("suffix", "namesuffix")
_PARTICLES = ("nondroppingparticle", "droppingparticle")
_ROLES = ("creatortype", "contributortype", "authtype", "contributorrole", "role")
_OTHER_ROLES = re.compile(
    r"editor|translator|reviewe[rd]|illustrator|supervisor|sponsor|funder|distributor|curator|manager|rightsholder|hosting"
    r"|contact|contributor|bookauthor|commenter|narrator|producer|recipient|director|datacollector",
    re.IGNORECASE,
)
"""Roles of persons who are not the paper's authors."""
_PARTS = (("family", "given"), ("lastname", "firstname"), ("surname", "givennames"), ("last", "first"))
_INVERTED = ("abstractinvertedindex", "invertedabstract")
_DATE_PARTS = "dateparts"
_LONGEST_INDEX = 1_000_000
_DEEPEST = 6
_INNER_IDS = {
    "pubmed": "pmid",
    "medline": "pmid",
    "pubmedcentral": "pmcid",
    "mag": "",
    "acl": "",
    "dblp": "",
    "corpusid": "",
}
"""Names of ids inside an object of ids, by their names in fields.py."""
_LISTED = frozenset(("journalinfo", "biblio", "journal", "primarylocation", "hostvenue", "pageinfo", "source"))
_OF_AUTHORS = frozenset(BIBLIOGRAPHY[AUTHORS])
_VALUES = (READ - TEXTS) | (READ & frozenset(IDS))
"""Names of the fields that are read here; a document's texts are read elsewhere."""
_INNER_FIELDS = {"firstpage", "lastpage", "volume", "issue", "pages", "issn", "issnl", "publisher"}


def json_values(record: Mapping[str, Any]) -> dict[str, Value]:
    """Return the texts of a JSON record by their names in fields.py; ids and texts themselves are left out."""
    values: dict[str, Value] = {}
    for key, value in record.items():
        name = field_name(str(key))
        if isinstance(value, str) and name != "type":  # the common case
            if name in _VALUES and not says_nothing(value):
                values[name] = value.strip()
            continue
        if name in ("ids", "externalids") and isinstance(value, Mapping | list):
            values |= _ids(value if isinstance(value, Mapping) else _by_type(value))
        if name in _LISTED:
            values = {**_inner(value), **values}
        if name == "type" and isinstance(value, str) and "-" in value and reference_type_of(value):
            name = "referencetype"  # as in CSL-JSON and Crossref; elsewhere it may be a publication type
        if name in RETRACTIONS and value is True:
            values[name] = "true"
        elif name == "updatedby" and _names_retraction(value):  # Crossref
            values["retractionin"] = "true"
        elif name in _VALUES and not is_blank(value):
            texts = [text for text in texts_of(_authors(value) if name in _OF_AUTHORS else value) if text]
            values[name] = texts[0] if len(texts) == 1 and isinstance(value, str) else texts
    return values


def with_abstract(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record with the text of OpenAlex's inverted index, if it has no other abstract."""
    for key, value in record.items():
        if field_name(str(key)) in _INVERTED and isinstance(value, dict):
            return {"abstract": _uninverted(value), **{name: record[name] for name in record if name != key}}
    return record


def texts_of(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts of a value: itself, a list's elements, or an object's own name."""
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, bool) or is_blank(value) or depth > _DEEPEST:
        return
    elif isinstance(value, int | float):
        yield str(int(value) if value == int(value) else value)
    elif isinstance(value, list):
        for element in value:
            if isinstance(element, str):
                yield element.strip()
            else:
                yield from texts_of(element, depth + 1)
    elif isinstance(value, dict):
        yield from _of_object({field_name(str(name)): inner for name, inner in value.items()}, depth)


def _of_object(fields: Mapping[str, Any], depth: int) -> Iterator[str]:
    if _DATE_PARTS in fields:
        parts = fields[_DATE_PARTS]
        first = parts[0] if isinstance(parts, list) and parts and isinstance(parts[0], list) else parts
        yield "-".join(texts_of(first))
        return
    for last, given in _PARTS:
        if isinstance(fields.get(last), str):
            surname, names = ([*texts_of(fields.get(name))] for name in (last, given))
            surname, suffix = [*_texts(fields, _PARTICLES), *surname], [*_texts(fields, _SUFFIXES)]
            yield " ".join(filter(None, (", ".join(filter(None, map(" ".join, (surname, names)))), *suffix)))
            return
    for name in (*_NAMES, "source", "journal", "author"):
        if not is_blank(fields.get(name)):
            yield from texts_of(fields[name], depth + 1)
            return
    for value in fields.values():
        if isinstance(value, list | dict):
            yield from texts_of(value, depth + 1)


def persons_or_names(values: list[Any]) -> list[str]:
    """Return the names of objects in a list, without editors and other persons who are not authors."""
    return [text for text in texts_of(_authors(values)) if text]


def _authors(value: Any) -> Any:
    """Return a list of persons without those of another role than an author's."""
    return [person for person in value if not _has_another_role(person)] if isinstance(value, list) else value


def _has_another_role(person: Any) -> bool:
    if not isinstance(person, dict):
        return False
    roles = (value for name, value in person.items() if field_name(str(name)) in _ROLES)
    return any(_OTHER_ROLES.search(text.replace("_", "")) for value in roles for text in texts_of(value))


def _names_retraction(value: Any) -> bool:
    updates = value if isinstance(value, list) else [value]
    return any(isinstance(update, dict) and "retraction" in str(update.get("type", "")).lower() for update in updates)


def _by_type(values: list[Any]) -> dict[str, Any]:
    """Return the ids in a list of objects with a type and a value, as Lens and Crossref write them."""
    ids: dict[str, Any] = {}
    for value in values:
        if isinstance(value, dict):
            fields = {field_name(str(name)): inner for name, inner in value.items()}
            kind = next((fields[name] for name in _KINDS if isinstance(fields.get(name), str)), "")
            identity = next(
                (fields[name] for name in ("value", "id", "identifier") if not is_blank(fields.get(name))), ""
            )
            ids.setdefault(kind, identity)
    return ids


_KINDS = ("type", "idtype", "scheme", "source", "registry", "name")


def _texts(fields: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        yield from texts_of(fields.get(name))


def _ids(values: Mapping[str, Any]) -> dict[str, Value]:
    named = ((field_name(str(name)), value) for name, value in values.items())
    ids = {_INNER_IDS.get(name, name): list(texts_of(value)) for name, value in named}
    return {name: texts[0] for name, texts in ids.items() if texts and (name in IDS or name in FURTHER_IDS)}


def _inner(value: Any) -> dict[str, Value]:
    """Return the volume, issue and pages in an object."""
    if not isinstance(value, dict):
        return {}
    named = {field_name(str(name)): inner for name, inner in value.items()}
    inner = chain.from_iterable(_inner(child).items() for child in value.values() if isinstance(child, dict))
    return {
        **dict(inner),
        **{name: texts for name in _INNER_FIELDS if (texts := list(texts_of(named.get(name)))) and texts[0]},
    }


def _uninverted(index: Mapping[str, Any]) -> str:
    """Return the words of an inverted index in the order of their positions."""
    words = {
        position: str(word)
        for word, positions in index.items()
        if isinstance(positions, list)
        for position in positions
        if isinstance(position, int) and 0 <= position < _LONGEST_INDEX
    }
    return " ".join(words[position] for position in sorted(words))
