"""Labelled rows: what every perspective is trained on and chosen by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from mpir.errors import InputError, shown
from mpir.io.read import read_json_lines


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled (question, sentence) pair; `group` is the question's id, `teacher` a better model's raw output."""

    group: str
    question: str
    sentence: str
    label: float
    teacher: float | None = None
    kind: str = ""


def read_rows(path: Path, top: float, *, distilled: bool = False) -> list[Example]:
    """Read labelled rows whose labels lie between 0 and `top`, and each with a teacher's score if it is `distilled`.

    Raises:
        InputError: a row that is none of that (file and line are named).
    """
    rows = []
    for number, item in read_json_lines(path):
        try:
            teacher = item.get("teacher")
            row = Example(
                str(item["id"]),
                item["question"],
                item["sentence"],
                float(item["label"]),
                None if teacher is None else float(teacher),
                str(item.get("kind", "")),
            )
        except (KeyError, TypeError, ValueError) as error:
            message = f"{path}:{number}: expected id, question, sentence and a numeric label; {error} is at fault."
            raise InputError(message) from error
        for name, text in (("question", row.question), ("sentence", row.sentence)):
            if not isinstance(text, str):
                raise InputError(f"{path}:{number}: the {name} is {shown(text)}; expected a text in quotation marks.")
        if not 0.0 <= row.label <= top:
            raise InputError(f"{path}:{number}: label {row.label} is outside 0 to {top:g}; correct the label.")
        if distilled and (row.teacher is None or not math.isfinite(row.teacher)):
            raise InputError(
                f"{path}:{number}: the teacher's score is {shown(row.teacher)}, but a loss learns from it; "
                "add scores with data_scripts/teacher_scores.py, or choose other losses."
            )
        rows.append(row)
    return rows
