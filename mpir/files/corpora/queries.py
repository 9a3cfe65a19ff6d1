"""Read queries from a file: BioASQ's questions, TREC's and BEIR's topics, JSON lines, or lines of id and text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mpir.errors import InputError, format_value
from mpir.files.corpora.bioasq import is_json
from mpir.files.corpora.topics import read_topics
from mpir.files.read import place_of, read_json_lines, read_json_value

TEXT_KEYS = ("question", "query", "body", "text", "topic")
ID_KEYS = ("id", "_id", "qid", "query_id", "number")
LISTS = ("questions", "topics", "queries")
"""Names of a JSON object's list of queries."""


def read_queries(path: str | Path) -> Iterator[tuple[str, str]]:
    """Yield the (id, text) of each query in a file.

    JSON is BioASQ's (of Task B and Synergy, with or without gold), TREC BioGen's, or a list of objects; a line of
    JSON lines is such an object, as in BEIR's ``queries.jsonl``. Other fields are ignored. All other files are read by
    `mpir.files.corpora.topics.read_topics`. The format is chosen by the suffix or, without one, as in BioASQ's test
    files, by the content.

    Raises:
        InputError: a file that does not match its suffix, a query without an id or a text, a repeated id, or no query.
    """
    if str(path).removesuffix(".gz").endswith(".jsonl"):
        return _distinct(((place_of(path, number), record) for number, record in read_json_lines(path)), path)
    if is_json(path):
        return _distinct(iter(_records(path)), path)
    return ((question.id, question.body) for question in read_topics(path))


def query_id(record: Mapping[str, Any], number: int) -> str:
    """The id of a line's query, or the line's number if it has none."""
    return str(number if record.get("id") is None else record["id"])


def _records(path: str | Path) -> list[tuple[str, Any]]:
    value = read_json_value(path)
    if isinstance(value, Mapping):
        value = next((value[name] for name in LISTS if name in value), value)
    if not isinstance(value, list):
        raise InputError(
            f'{path}: there is no "questions" list; expected {{"questions": [{{"id": …, "body": …}}, …]}}, the '
            'same with "topics", or a list of such objects.'
        )
    return [(f"{path}: question {number}", record) for number, record in enumerate(value, 1)]


def _distinct(records: Iterator[tuple[str, Any]], path: str | Path) -> Iterator[tuple[str, str]]:
    """Yield the id and text of each record. Raises InputError for a duplicate id, or if there are no records."""
    known_ids: set[str] = set()
    for location, record in records:
        identifier, text = _query(record, location)
        if identifier in known_ids:
            raise InputError(f"{location}: duplicate id {format_value(identifier)}; give every query its own id.")
        known_ids.add(identifier)
        yield identifier, text
    if not known_ids:
        raise InputError(f"{path}: no queries found; give a file with at least one.")


def _query(record: Any, location: str) -> tuple[str, str]:
    if not isinstance(record, Mapping):
        raise InputError(f"{location} is {format_value(record)}; expected an object with an id and a body.")
    text = next((record[key] for key in TEXT_KEYS if record.get(key)), None)
    identifier = next((record[key] for key in ID_KEYS if record.get(key) not in (None, "")), None)
    is_id = isinstance(identifier, str | int) and not isinstance(identifier, bool)
    if not isinstance(text, str) or not text.strip() or not is_id:
        raise InputError(
            f"{location}: the id is {format_value(identifier)} and the text is {format_value(text)}; expected an id, "
            f"and a text under one of {', '.join(TEXT_KEYS)}."
        )
    return str(identifier), text
