"""Read and write TREC runs and qrels, the files of trec_eval.

A run's line is ``query Q0 document rank score tag``, a qrels' line ``query 0 document grade``, both separated by
white space. Ranks and the second column are not used: as in trec_eval, the score alone orders a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from mpir.errors import InputError, format_value, shortened
from mpir.files.read import read_lines
from mpir.files.write import atomic_write

RUN_COLUMNS = "query Q0 document rank score tag"
QRELS_COLUMNS = "query 0 document grade"
BEIR_HEADER = ("query-id", "corpus-id", "score")
QUERY_NAMES, GRADE_NAMES = (
    {"query-id", "query", "qid", "topic", "topic-id"},
    {"score", "grade", "relevance", "rel", "label"},
)
"""Names of the first and last columns in a header."""

GRADES = range(-(2**31), 2**31)
"""Range of grades in trec_eval."""

Value = TypeVar("Value", int, float)


def read_run(path: str | Path) -> dict[str, dict[str, float]]:
    """Read a run: query id → document id → score, both in the order of the file.

    Raises:
        InputError: a line without six columns, a score that is not a finite number, a document that a query
            repeats, or an empty file, with file and line; also as `mpir.files.read.read_lines`.
    """
    return _gather(path, RUN_COLUMNS, 4, _score)


def stream_run(path: str | Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each query of a run with its documents, best first, one query in memory; its lines must be adjacent.

    Raises:
        InputError: as `read_run`, or a query whose lines are not adjacent (with file and line).
    """
    finished: set[str] = set()
    query, scores = "", dict[str, float]()
    for location, fields in _rows(path, RUN_COLUMNS):
        if fields[0] != query:
            if query:
                yield query, sorted(scores, key=lambda name: -scores[name])
                finished.add(query)
            query, scores = fields[0], {}
            if query in finished:
                raise InputError(
                    f"{location}: the lines of query {shortened(query)} are not adjacent; sort the run by query."
                )
        _add(scores, fields, _score(fields[4], location), location)
    if not query:
        raise InputError(f"{path}: the file has no lines; expected lines of '{RUN_COLUMNS}'.")
    yield query, sorted(scores, key=lambda name: -scores[name])


def read_qrels(path: str | Path) -> dict[str, dict[str, int]]:
    """Read qrels: query id → document id → grade, both in the order of the file.

    BEIR's files are also read: three columns separated by tabs, with a header line.

    Raises:
        InputError: a line without four columns, a grade that is not an integer, a document that a query repeats,
            or an empty file, with file and line; also as `mpir.files.read.read_lines`.
    """
    return _gather(path, QRELS_COLUMNS, 3, _grade)


def write_run(path: str | Path, run: Mapping[str, Mapping[str, float]], *, tag: str = "mpir") -> None:
    """Write a run with each query's documents best first; equal scores keep their order, and ranks start at 1.

    Raises:
        InputError: an id or `tag` that is empty or contains white space, or a score that is NaN or infinite.
        OutputError: the file cannot be written.
    """
    lines = (
        run_line(query, document, rank, score, tag)
        for query, scores in run.items()
        for rank, (document, score) in enumerate(sorted(scores.items(), key=lambda item: -item[1]), 1)
    )
    _write(path, lines)


def run_line(query: str, document: str, rank: int, score: float, tag: str) -> str:
    """Format one line of a run, with its line end. Raises InputError as `write_run`."""
    return f"{_id(query)} Q0 {_id(document)} {rank} {_finite(score, query, document)!r} {_id(tag)}\n"


def write_qrels(path: str | Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Write qrels in the given order.

    Raises:
        InputError: an id that is empty or contains white space, or a grade that is not an integer.
        OutputError: the file cannot be written.
    """
    lines = (
        f"{_id(query)} 0 {_id(document)} {_integer(grade, query, document)}\n"
        for query, grades in qrels.items()
        for document, grade in grades.items()
    )
    _write(path, lines)


def _gather(
    path: str | Path, columns: str, value_column: int, parse: Callable[[str, str], Value]
) -> dict[str, dict[str, Value]]:
    values: dict[str, dict[str, Value]] = {}
    for location, fields in _rows(path, columns):
        _add(values.setdefault(fields[0], {}), fields, parse(fields[value_column], location), location)
    if not values:
        raise InputError(f"{path}: the file has no lines; expected lines of '{columns}'.")
    return values


def _add(values: dict[str, Value], fields: Sequence[str], value: Value, location: str) -> None:
    """Add the value of a document to those of its query."""
    if fields[2] in values:
        raise InputError(
            f"{location}: duplicate document {shortened(fields[2])} of query {shortened(fields[0])}; keep one of the "
            "lines."
        )
    values[fields[2]] = value


def _rows(path: str | Path, columns: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the location and cells of each line; BEIR's judgements get the missing second column."""
    expected, header = len(columns.split()), False
    is_first = columns == QRELS_COLUMNS
    for number, line in read_lines(path):
        fields = line.split()
        if is_first and fields:
            is_first, header = False, _is_header(fields)
            if header:
                expected = len(fields)
                continue
        if fields and len(fields) != expected:
            names = "query-id corpus-id score" if expected == len(BEIR_HEADER) else columns
            raise InputError(
                f"{path}:{number}: expected {expected} columns '{names}', got {len(fields)}; correct the line."
            )
        if fields:
            yield f"{path}:{number}", fields if len(fields) != len(BEIR_HEADER) else [fields[0], "0", *fields[1:]]


def _is_header(fields: Sequence[str]) -> bool:
    """Whether the first line of qrels is a header, as in BEIR."""
    names = [field.strip('"').lower().replace("_", "-") for field in fields]
    return len(names) in (3, 4) and names[0] in QUERY_NAMES and names[-1] in GRADE_NAMES


def _score(text: str, location: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise InputError(f"{location}: the score is {format_value(text)}; expected a finite number.")
    return score


def _grade(text: str, location: str) -> int:
    try:
        grade = int(text.removesuffix(".0"))  # a grade saved as a float
    except ValueError:
        grade = GRADES.stop
    if grade not in GRADES:
        raise InputError(f"{location}: the grade is {format_value(text)}; expected an integer such as 0, 1 or 2.")
    return grade


def _write(path: str | Path, lines: Iterable[str]) -> None:
    with atomic_write(path) as stream:
        stream.writelines(lines)


def check_ids(*names: str) -> None:
    """Raise InputError for an id that TREC files cannot represent."""
    for name in names:
        _id(name)


def _id(name: str) -> str:
    if name.split() != [name]:
        form = "without white space" if name else "that is not empty"
        raise InputError(f"{format_value(name)} is not a valid id in a TREC file; expected an id {form}.")
    return name


def _description(query: str, document: str) -> str:
    return f"query {shortened(query)}, document {shortened(document)}"


def _finite(score: float, query: str, document: str) -> float:
    if not math.isfinite(score):
        raise InputError(f"{_description(query, document)}: the score is {score}; expected a finite number.")
    return float(score)


def _integer(grade: int, query: str, document: str) -> int:
    if grade != int(grade):
        raise InputError(f"{_description(query, document)}: the grade is {grade}; expected an integer.")
    return int(grade)
