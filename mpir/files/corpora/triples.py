"""Read training triples: a question, a passage that answers it and one that does not, as texts or ids.

    triples.tsv      question ⇥ positive ⇥ negative
                     score of the positive ⇥ score of the negative ⇥ question ⇥ positive ⇥ negative
    triples.jsonl    {"question": "…", "positive": "…", "negative": "…", "teacher": [4.5, -2.0]}

The scores are a teacher's raw outputs, in the format of Hofstätter et al. (2020). Files may be gzipped, and are
streamed, because some have forty million rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from mpir.errors import InputError, format_value
from mpir.files.read import parse_object, read_lines

KEYS = ("question", "positive", "negative")
_SUFFIXES = {".tsv": False, ".txt": False, ".jsonl": True}
"""File suffixes, and whether their lines are JSON."""


class Triple(NamedTuple):
    """A question, a passage that answers it, one that does not, and a teacher's scores of both."""

    question: str
    positive: str
    negative: str
    teacher: tuple[float, float] | None = None


def read_triples(path: str | Path, start: int = 0) -> Iterator[tuple[int, Triple]]:
    """Stream (line number from 1, triple), beginning with triple number `start`; blank lines are skipped.

    Raises:
        InputError: another file format, a line without three or five cells, an invalid JSON object, an empty text, or
            a teacher's score that is not a finite number (with file and line).
    """
    parse = _of_object if _is_json(path) else _of_cells
    lines = ((number, line) for number, line in read_lines(path) if line.strip())
    for number, line in islice(lines, start, None):
        yield number, parse(line, f"{path}:{number}")


def _is_json(path: str | Path) -> bool:
    suffix = Path(str(path).removesuffix(".gz")).suffix
    if suffix not in _SUFFIXES:
        raise InputError(
            f"{path}: unknown suffix for triples; expected one of {', '.join(_SUFFIXES)}, with or without .gz."
        )
    return _SUFFIXES[suffix]


def _of_cells(line: str, location: str) -> Triple:
    cells = line.split("\t")
    if len(cells) not in (3, 5):
        raise InputError(
            f"{location}: expected 3 tab-separated cells (question, positive, negative), or 5 (the scores of positive "
            f"and negative before them), got {len(cells)}."
        )
    return _triple(cells[-3:], cells[:-3] or None, location)


def _of_object(line: str, location: str) -> Triple:
    record = parse_object(line, location)
    return _triple([record.get(key) for key in KEYS], record.get("teacher"), location)


def _triple(texts: list[Any], teacher: Any, location: str) -> Triple:
    for key, text in zip(KEYS, texts, strict=True):
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{location}: the {key} is {format_value(text)}; expected a text or an id.")
    question, positive, negative = (text.strip() for text in texts)
    return Triple(question, positive, negative, None if teacher is None else _scores(teacher, location))


def _scores(values: Any, location: str) -> tuple[float, float]:
    try:
        positive, negative = (math.nan if isinstance(value, bool) else float(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        positive = negative = math.nan
    if not (math.isfinite(positive) and math.isfinite(negative)):
        raise InputError(f"{location}: the teacher's scores are {format_value(values)}; expected two finite numbers.")
    return positive, negative
