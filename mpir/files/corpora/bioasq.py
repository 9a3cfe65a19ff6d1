"""BioASQ question files of Task B and Synergy: test, gold, training and feedback files, and Phase A submissions.

Gold end offsets are exclusive in 97 % of snippets (docs/reference/formats.md). Offsets are kept as in the
file, even if they are -1.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from mpir.core.text.types import ABSTRACT, Question, Snippet
from mpir.errors import InputError, format_value, shortened
from mpir.files.read import STDIN, open_bytes, read_json
from mpir.files.write import write_json

DOCUMENT_URL = "http://www.ncbi.nlm.nih.gov/pubmed/"
_SECTIONS = {"sections.0": ABSTRACT}  # the section name of the first rounds; counts: docs/reference/formats.md
_OFFSETS = 2**31  # no text is that long, and 32 bits suffice for smaller offsets
_URL = re.compile(r"https?://\S+/(?!(?:pubmed|articles)/?$)([^\s/?#]+)/?")  # a URL may lack the id at its end
_BARE_ID = re.compile(r"[\w.-]+", re.ASCII)
_OTHER_JSON = re.compile(rb'\[|\{\s*"(?:topics|queries)"')
_NAMES = {str: "a string", int: "a whole number", list: "a list", dict: "an object"}
_T = TypeVar("_T")


def is_bioasq(path: str | Path) -> bool:
    """Whether a question file is BioASQ's JSON, in contrast to a list or the "topics" of another source.

    Raises:
        InputError: a file that looks like JSON cannot be read.
    """
    return is_json(path) and not _OTHER_JSON.match(_head(path))


def is_json(path: str | Path) -> bool:
    """Whether a file is JSON, judged by its suffix or, for BioASQ's test files without one, by its first characters.

    Raises:
        InputError: a file without a known suffix cannot be read.
    """
    name = str(path).removesuffix(".gz")
    if name.endswith((".json", ".jsonl", ".tsv")) or name == STDIN:
        return name.endswith(".json")
    return _head(path).startswith((b"{", b"["))


def _head(path: str | Path) -> bytes:
    with open_bytes(path) as stream:
        return stream.read(256).removeprefix(BOM_UTF8).lstrip()


def read_questions(path: str | Path, *, submission: bool = False) -> list[Question]:
    """Read a BioASQ file: ``{"questions": [{"id", "body", "type", "documents", "snippets"}, …]}``.

    Files of Task B and of Synergy are accepted, with or without gold. A document is given by its URL, whose last
    segment is the id, by its PMID, or by an object with an "id"; documents with "golden": false are left out. The
    section name ``sections.0`` is read as the abstract. A `submission` needs no bodies and no snippet texts, because it
    is measured by ids and offsets.

    Raises:
        InputError: the file has another form, or a question lacks an id or body, repeats an id, or has a value of a
            wrong type or an impossible offset.
    """
    questions: dict[str, Question] = {}
    for number, record in enumerate(_records(path), 1):
        question = _question(record, f"{path}: question {number}", submission=submission)
        if question.id in questions:
            raise InputError(
                f"{path}: question {number} repeats the id {format_value(question.id)}; give every question its own."
            )
        questions[question.id] = question
    return list(questions.values())


def read_submission(path: str | Path) -> tuple[list[Question], list[str]]:
    """Read the valid questions of a submission, and return one error message for each invalid one.

    Raises:
        InputError: the file is not a JSON object with a list of questions.
    """
    questions, problems = [], []
    for number, record in enumerate(_records(path), 1):
        try:
            questions.append(_question(record, f"{path}: question {number}", submission=True))
        except InputError as error:
            problems.append(str(error))
    return questions, problems


def _records(path: str | Path) -> list[Any]:
    records = read_json(path).get("questions")
    if not isinstance(records, list):
        raise InputError(
            f'{path}: there is no "questions" list; expected {{"questions": [{{"id": …, "body": …}}, …]}}.'
        )
    return records


def _question(record: Any, location: str, *, submission: bool) -> Question:
    if not isinstance(record, dict):
        raise InputError(f"{location} is {format_value(record)}; expected an object with an id and a body.")
    number = record.get("id")
    identity = str(number) if type(number) is int else _text(record, "id", location)
    location = f"{location} ({shortened(identity)})"
    documents = _optional(record, "documents", list, location)
    snippets = _optional(record, "snippets", list, location)
    return Question(
        id=identity,
        body=_text(record, "body", location, needed=not submission),
        type=_optional(record, "type", str, location) or "",
        documents=None
        if documents is None
        else tuple(_document_id(document, location) for document in documents if _is_gold(document)),
        snippets=None
        if snippets is None
        else tuple(
            _snippet(item, f"{location}, snippet {number}", submission=submission)
            for number, item in enumerate(snippets, 1)
            if _is_gold(item)
        ),
    )


def _is_gold(record: Any) -> bool:
    """Whether a document or snippet is gold: Synergy's feedback files state for each whether it was judged relevant."""
    return not isinstance(record, dict) or record.get("golden") is not False


def _snippet(record: Any, location: str, *, submission: bool) -> Snippet:
    if not isinstance(record, dict):
        raise InputError(f"{location} is {format_value(record)}; expected an object with a document and a text.")
    begin, end = (_offset(record, key, location) for key in ("offsetInBeginSection", "offsetInEndSection"))
    begin_section, end_section = (_text(record, key, location) for key in ("beginSection", "endSection"))
    return Snippet(
        document=_document_id(record.get("document"), location),
        begin_section=_SECTIONS.get(begin_section, begin_section),
        end_section=_SECTIONS.get(end_section, end_section),
        begin=begin,
        end=end,
        text=_text(record, "text", location, needed=not submission),
    )


def _offset(record: dict[str, Any], key: str, location: str) -> int | None:
    value = _optional(record, key, int, location)
    if value is not None and abs(value) >= _OFFSETS:
        raise InputError(f"{location}: {key} is {format_value(value)}; expected a whole number below {_OFFSETS}.")
    return value


def _document_id(document: Any, location: str) -> str:
    """Return a document's id: the end of its URL (Task B), or a plain id or an object with one (Synergy)."""
    value = document.get("id") if isinstance(document, dict) else document
    value = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(value, str) and _BARE_ID.fullmatch(value.strip()):
        return value.strip()
    match = _URL.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise InputError(
            f"{location}: a document is {format_value(document)}; expected its PMID, or its URL, such as "
            f"{DOCUMENT_URL}12345678."
        )
    return match.group(1)


def _text(record: dict[str, Any], key: str, location: str, *, needed: bool = True) -> str:
    value = _optional(record, key, str, location) or ""
    if needed and not value.strip():
        raise InputError(f'{location} has no {key}; add "{key}": "…".')
    return value


def _optional(record: dict[str, Any], key: str, expected_type: type[_T], location: str) -> _T | None:
    value = record.get(key)
    if value is None:
        return None
    if not isinstance(value, expected_type) or isinstance(value, bool):
        raise InputError(f"{location}: {key} is {format_value(value)}; expected {_NAMES[expected_type]}.")
    return value


def write_submission(path: str | Path, questions: Iterable[Question]) -> None:
    """Write a Phase A submission in the official format, atomically: PubMed URLs, section names, exclusive end offsets.

    Raises:
        OutputError: the file cannot be written.
    """
    write_json(path, {"questions": [_submitted(question) for question in questions]})


def _submitted(question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "body": question.body,
        "type": question.type,
        "documents": [DOCUMENT_URL + document for document in question.documents or ()],
        "snippets": [
            {
                "document": DOCUMENT_URL + snippet.document,
                "beginSection": snippet.begin_section,
                "endSection": snippet.end_section,
                "offsetInBeginSection": snippet.begin,
                "offsetInEndSection": snippet.end,
                "text": snippet.text,
            }
            for snippet in question.snippets or ()
        ],
    }
