"""Labelled rows for training and model selection."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpir.errors import InputError, error_context, format_names, format_value
from mpir.files.read import read_json_lines

KEYS = ("id", "question", "sentence", "label")
"""The keys that every row has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One labelled (question, sentence) pair; `group` is the question's id, `teacher` a teacher model's raw output."""

    group: str
    question: str
    sentence: str
    label: float
    teacher: float | None = None
    subset: str = ""


def read_rows(path: Path, top: float, *, distilled: bool = False) -> list[Example]:
    """Read labelled rows with labels from 0 to `top`, and with a teacher's score if `distilled`.

    A null kind or teacher's score counts as missing.

    Raises:
        InputError: an invalid row (the message has file and line).
    """
    rows = []
    for number, item in read_json_lines(path):
        with error_context(f"{path}:{number}"):
            row = _row(item)
            _check(row, top, distilled=distilled)
        rows.append(row)
    return rows


def _row(item: Mapping[str, Any]) -> Example:
    """Parse a line's object as a row. Raises InputError for a missing key, invalid id, or label of another type."""
    if missing := [key for key in KEYS if key not in item]:
        raise InputError(
            f"lacks {format_names(missing)} (got {format_names(item) or 'no key'}, expected {format_names(KEYS)}). "
            "Rename the keys, or leave the row out."
        )
    if not _is_id(item["id"]):
        raise InputError(
            f"the id is {format_value(item['id'])}; expected a string or a whole number that names the question."
        )
    teacher, subset = item.get("teacher"), item.get("kind")
    return Example(
        group=str(item["id"]),
        question=item["question"],
        sentence=item["sentence"],
        label=_number("label", item["label"]),
        teacher=None if teacher is None else _number("teacher", teacher),
        subset="" if subset is None else str(subset),
    )


def _number(key: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{key} is {format_value(value)} (expected a number). Correct the row.") from None


def _is_id(value: Any) -> bool:
    """Whether an id identifies a question; null values would all become one question, "None"."""
    return isinstance(value, str | int) and not isinstance(value, bool) and bool(str(value).strip())


def _check(row: Example, top: float, *, distilled: bool) -> None:
    for name, text in (("question", row.question), ("sentence", row.sentence)):
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"the {name} is {format_value(text)}; expected a text in quotation marks.")
    if not 0.0 <= row.label <= top:
        raise InputError(f"label {row.label} is outside 0 to {top:g}; correct the label.")
    if distilled and (row.teacher is None or not math.isfinite(row.teacher)):
        raise InputError(
            f"the teacher's score is {format_value(row.teacher)}, but a loss learns from it; give each row a finite "
            "number as `teacher`, or choose other losses."
        )
