"""Read TREC topics: SGML blocks, XML of the biomedical tracks, and lines of id and text.

<top> <num> Number: 7 <title> text <desc> a sentence </top>     ad hoc, OHSUMED, TripClick
<topic number="1"><query>…</query><question>…</question>        COVID 2020
<topic number="1"><description>…</description><summary>…        clinical decision support 2014 to 2016
<topic number="1"><disease>…</disease><gene>…</gene>…           precision medicine 2017 to 2020
<topic><number>1</number><query>…</query><description>…         misinformation 2019 to 2022
<topic number="1">a patient's note</topic>                      clinical trials 2021 and 2022
<topic number="1"><field name="age">…</field>…                  clinical trials 2023
id ⇥ text                                                       TripClick, MS MARCO, with or without a header
id,question                                                      a table whose header names both columns
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from mpir.core.text.types import Question
from mpir.errors import InputError, format_names, shortened
from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.tripclick import read_blocks, read_cells
from mpir.files.corpora.xml import read_elements, text_of
from mpir.files.csv_rows import csv_rows
from mpir.files.read import STDIN, open_bytes, read_lines

TEXTS = ("question", "summary", "description", "query", "title", "need")
"""Fields with the whole query; the first one present is read, sentences before keywords."""
ASPECTS = ("disease", "gene", "treatment", "demographic", "other")
"""Fields of a patient, which together form the query."""
_NUMBERS = ("number", "id", "num", "qid")
_NUMBER_COLUMNS = frozenset((*_NUMBERS, "queryid", "topic", "topicid", "questionid", "topicnumber"))
_TEXT_COLUMNS = (*TEXTS, "text", "body", "querytext", "questiontext")
_PLACEHOLDERS = {"", "none", "n/a", "not applicable"}
_HEAD = 2**16
_ROOTS, _TAGS = ("topics", "TOPICS", "topic", "TOPIC"), ("topic", "TOPIC")
_XML = re.compile(rb"<topics?[\s>]", re.IGNORECASE)
_TAG = re.compile(r"</?(\w{1,40})>")
_LABEL = re.compile(r"\s*+(?:Number|Topic|Title|Desc\w*|Summary|Question|Query):", re.IGNORECASE)
_SGML_NAMES = {"num": "number", "desc": "description"}


def read_topics(path: str | Path) -> list[Question]:
    """Read the queries of a topics file, in its order, without gold documents.

    Raises:
        InputError: a topic without a number or a text, a repeated number (the message names it), or malformed XML.
    """
    questions: dict[str, Question] = {}
    for location, identity, text in _topics(path):
        if not identity or not text:
            lacks = "text" if identity else "number"
            raise InputError(
                f"{location}: the topic has no {lacks}; expected <num> Number: 7 and <title> a query, or the number "
                f"and one of {', '.join(TEXTS)} in XML."
            )
        if identity in questions:
            raise InputError(f"{location}: duplicate topic number {shortened(identity)}; keep one of them.")
        questions[identity] = Question(identity, text)
    if not questions:
        raise InputError(
            f"{path}: no topics found; expected <top> … </top>, XML of <topic>, or lines of id and text in a table."
        )
    return list(questions.values())


def _topics(path: str | Path) -> Iterator[tuple[str, str, str]]:
    """Yield the location, number and text of each topic."""
    is_tsv = ".tsv" in Path(path).suffixes
    head = _head(path) if Path(path).is_file() or not is_tsv else b""  # reading from a pipe would consume its content
    if is_tsv or head.removeprefix(b"\xef\xbb\xbf").strip()[:1] not in (b"", b"<"):
        yield from _rows(path, head)
        return
    if b"<top>" not in head.lower() and _XML.search(head):
        yield from _xml_topics(path)
        return
    opening, closing = ("<TOP>", "</TOP>") if b"<TOP>" in head else ("<top>", "</top>")
    for location, block in read_blocks(path, opening, closing):
        fields = _sgml_fields(block)
        number = fields.get("number", "").split()
        yield location, number[0] if number else "", next((fields[name] for name in TEXTS if fields.get(name)), "")


def _sgml_fields(block: str) -> dict[str, str]:
    """Return the texts of a topic by the names of XML topics, without labels such as "Description:"."""
    pieces = _TAG.split(block)
    fields: dict[str, str] = {}
    for tag, text in zip(pieces[1::2], pieces[2::2], strict=True):
        name = tag.lower()
        label = _LABEL.match(text)
        fields.setdefault(_SGML_NAMES.get(name, name), " ".join(text[label.end() if label else 0 :].split()))
    return fields


def _rows(path: str | Path, head: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield the topics of a table, whose header may name its columns, or of lines of id and text."""
    first = head.decode("utf-8-sig", errors="replace").strip().partition("\n")[0].rstrip()
    separator = next((mark for mark in "\t,;" if mark in first), "\t")
    options: Any = {"delimiter": separator, "quoting": csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL}
    names = [field_name(cell) for cell in next(csv.reader([first], **options), [])]
    number = next((position for position, name in enumerate(names) if name in _NUMBER_COLUMNS), None)
    text = next((names.index(name) for name in _TEXT_COLUMNS if name in names), None)
    if number is None or text is None:
        if separator == "\t":
            for location, (identity, query) in read_cells(path, 2, "id, text"):
                yield location, identity.strip(), query.strip()
        return
    lines = (f"{line}\n" for _, line in read_lines(path))
    rows = ((line_number, row) for line_number, row in csv_rows(lines, path, **options) if any(map(str.strip, row)))
    next(rows)
    for line_number, row in rows:
        cells = [*row, *[""] * len(names)]
        yield f"{path}:{line_number}", cells[number].strip(), " ".join(cells[text].split())


def _head(path: str | Path) -> bytes:
    if str(path) == STDIN:
        return b""
    with open_bytes(path) as stream:
        return stream.read(_HEAD)


def _xml_topics(path: str | Path) -> Iterator[tuple[str, str, str]]:
    for number, topic in enumerate(read_elements(path, _ROOTS, _TAGS), 1):
        fields = {child.tag.lower(): text_of(child) for child in topic if child.tag.lower() != "field"}
        numbers = [topic.get(name) or fields.get(name, "") for name in _NUMBERS]
        location = f"{path}: topic {number}"
        yield location, next((value.strip() for value in numbers if value.strip()), ""), _text(topic, fields, location)


def _text(topic: ET.Element, fields: Mapping[str, str], location: str) -> str:
    """Return a topic's query: one of its fields, the fields of a patient, or its own text."""
    if text := next((fields[name] for name in TEXTS if fields.get(name)), ""):
        return text
    named = [f"{field.get('name', '').strip()}: {text_of(field)}" for field in topic.iter("field") if text_of(field)]
    aspects = [fields[name] for name in ASPECTS if fields.get(name, "").strip(" .").lower() not in _PLACEHOLDERS]
    unknown = fields.keys() - {*ASPECTS, *_NUMBERS}
    if unknown and not named and not aspects:
        raise InputError(
            f"{location}: no text field with a known name (got {format_names(sorted(unknown))}, expected one of "
            f"{', '.join((*TEXTS, *ASPECTS))}); write lines of id and text in a file named .tsv."
        )
    return ", ".join(aspects) or "; ".join(named) or text_of(topic)
