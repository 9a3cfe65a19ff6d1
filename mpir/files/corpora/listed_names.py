"""Fields of a record that list names: authors, groups, publication types, keywords and languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from mpir.files.corpora.authors import authors_of, plain_author
from mpir.files.corpora.bibliography import AUTHORS, distinct_names, split_names
from mpir.files.corpora.field_values import Value
from mpir.files.corpora.identifiers import doi_of
from mpir.files.corpora.json_values import persons_or_names
from mpir.files.corpora.list_cells import objects_in

AddField = Callable[[dict[str, Any], Iterable[Value]], None]
"""A function that adds what a field's values say to a document's metadata."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])(?! )")


def names_adder(key: str, *, every: bool, plain: Callable[[str], str] = str) -> AddField:
    """Return a function that adds the names, made plain, in the first field that has any, or in every field."""

    def add(metadata: dict[str, Any], values: Iterable[Value]) -> None:
        """Set `key` to the names in the values, in their order, each once."""
        names = list[str]()
        for value in values:
            names += distinct_names(map(plain, _names(value)))
            if names and not every:
                break
        if names:
            metadata[key] = list(dict.fromkeys(names)) if every else names

    return add


def _names(value: Value) -> list[str]:
    """Return the names in a value; some programs write several of a list in one line: "salt; sweat"."""
    if isinstance(value, str):
        objects = objects_in(value) if "{" in value else []
        return persons_or_names(objects) if objects else split_names(value)
    if ";" not in "\n".join(value):  # the common case
        return list(value)
    return [name for text in value for name in (split_names(text) if ";" in text else (text,))]


def add_authors(metadata: dict[str, Any], values: Iterable[Value]) -> None:
    """Set the authors to the names of the first value that has any."""
    for value in values:
        persons = objects_in(value) if isinstance(value, str) and "{" in value else []
        if authors := distinct_names(map(plain_author, persons_or_names(persons)) if persons else authors_of(value)):
            metadata[AUTHORS] = authors
            return


def add_groups(metadata: dict[str, Any], values: Iterable[Value]) -> None:
    """Append the groups that a record names beside its persons."""
    groups = [name for value in values for name in distinct_names(_names(value))]
    if groups:
        metadata[AUTHORS] = list(dict.fromkeys((*metadata.get(AUTHORS, ()), *groups)))


def publication_type(name: str) -> str:
    """Return a publication type; "" for a DOI, which some programs write there, and a letter of Web of Science."""
    return "" if doi_of(name) or len(name) == 1 else _CAMEL.sub(" ", name)


def heading(keyword: str) -> str:
    """Return a keyword without the asterisk of a major MeSH heading: "*Sweat/chemistry", "Sweat/*chemistry"."""
    return keyword.removeprefix("*").replace("/*", "/") if "*" in keyword else keyword
