"""Texts of nested JSON values: authors as objects, dates as parts, ids in an object, and OpenAlex's abstracts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from mpir.files.corpora.bibliography import reference_type_of
from mpir.files.corpora.fields import FURTHER_IDS, IDS, READ, RETRACTIONS, TEXTS, field_name, is_blank
from mpir.files.corpora.record import Value

_NAMES = (
    "displayname",
    "name",
    "fullname",
    "descriptorname",
    "title",
    "literal",
    "pubtype",
    "keyword",
    "value",
    "term",
)
"""Names of an object's own name, by preference."""
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
_LISTED = frozenset(("journalinfo", "biblio", "journal", "primarylocation", "hostvenue", "pageinfo"))
_INNER_FIELDS = {"firstpage", "lastpage", "volume", "issue", "pages", "issn", "issnl", "publisher"}


def json_values(record: Mapping[str, Any]) -> dict[str, Value]:
    """Return the texts of a JSON record by their names in fields.py; ids and texts themselves are left out."""
    values: dict[str, Value] = {}
    for key, value in record.items():
        name = field_name(str(key))
        if name in ("ids", "externalids") and isinstance(value, Mapping):
            values |= _ids(value)
        if name in _LISTED or name == "biblio":
            values |= _inner(value)
        if name == "type" and isinstance(value, str) and "-" in value and reference_type_of(value):
            name = "referencetype"  # as in CSL-JSON and Crossref; elsewhere it may be a publication type
        if name in RETRACTIONS and value is True:
            values[name] = "true"
        elif name in READ and not (name in TEXTS and name not in IDS) and not is_blank(value):
            texts = [text for text in texts_of(value) if text]
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
            yield ", ".join(text for name in (last, given) for text in texts_of(fields.get(name)))
            return
    for name in (*_NAMES, "source", "journal", "author"):
        if not is_blank(fields.get(name)):
            yield from texts_of(fields[name], depth + 1)
            return
    for value in fields.values():
        if isinstance(value, list | dict):
            yield from texts_of(value, depth + 1)


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
