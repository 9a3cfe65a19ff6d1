"""One decision of a reader, as pages send it and as older versions wrote it to NAME.grades.jsonl."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mpir.errors import InputError, format_value
from mpir.files.read import read_lines

HIGHEST = 3
LONGEST_NOTE = 10_000
"""Maximum number of characters of a note."""
LATEST = 253_402_300_799_999
"""The last millisecond of the year 9999."""
DECISION_FORM = '{"query": "…", "id": "…", "grade": 2, "note": "", "time": 1764230400000}'
Decision = dict[str, Any]


def read_decision(record: Any, location: str) -> Decision:
    """Return a decision: query, id, grade (0 to 3, or None if taken back), note, time (ms) and fingerprint.

    Raises:
        InputError: the record is not a decision.
    """
    values = record if isinstance(record, Mapping) else {}
    query, identifier, fingerprint = (values.get(name, "") for name in ("query", "id", "fingerprint"))
    note, grade, time = values.get("note", ""), values.get("grade", ""), values.get("time", 0)
    is_text = all(isinstance(value, str) for value in (query, identifier, fingerprint, note))
    is_grade = grade is None or _is_whole(grade, HIGHEST)
    if not (is_text and identifier and is_grade):
        raise InputError(
            f"{location}: {format_value(record)} is not a grade (expected {DECISION_FORM}); correct or remove it."
        )
    if not _is_whole(time, LATEST):
        raise InputError(f"{location}: the time is {format_value(time)}; expected milliseconds since 1970.")
    if len(note) > LONGEST_NOTE:
        raise InputError(f"{location}: the note has {len(note)} characters; expected at most {LONGEST_NOTE}.")
    return {"query": query, "id": identifier, "grade": grade, "note": note, "time": int(time)} | (
        {"fingerprint": fingerprint} if fingerprint else {}
    )


def _is_whole(value: Any, highest: int) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= highest and value == int(value)


def grades_path(documents: Path) -> Path:
    """Return the file in which older versions kept decisions on a document file or folder, beside it."""
    name = documents.name.removesuffix(".gz")
    return documents.with_name(f"{name if documents.is_dir() else Path(name).stem}.grades.jsonl")


def read_grades(path: Path) -> Iterator[Decision]:
    """Yield the decisions of such a file, or of one that a page exported. A last line that was cut off is left out.

    Raises:
        InputError: another line is not a decision; the file may be another one.
    """
    lines = [(number, line) for number, line in read_lines(path) if line.strip()]
    for number, line in lines:
        location = f"{path}:{number}"
        try:
            record = json.loads(line)
        except ValueError:
            if (number, line) == lines[-1]:
                return
            record = line.strip()
        yield read_decision(record, location)
