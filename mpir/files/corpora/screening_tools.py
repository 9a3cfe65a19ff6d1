"""Read the decisions of screening tools in the fields of a record: Rayyan, ASReview, Covidence, EPPI-Reviewer and mpir.

Rayyan writes all into the notes, `RAYYAN-INCLUSION: {"Ada"=>"Included"} | USER-NOTES: {"Ada"=>["why"]}` ("Understanding
Your Rayyan Export Files"). ASReview has columns, and notes in RIS (asreview/data/base.py and ris.py of version 3).
Covidence exports one file for each list, and its name says which. EPPI-Reviewer's tables have flags, its RIS none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mpir.core.text.types import Document
from mpir.errors import InputError, format_value
from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.fields import REMARKS
from mpir.files.corpora.source_fields import SOURCE_FIELDS, source_fields

INCLUDED, MAYBE, EXCLUDED = 2, 1, 0
RAYYAN, ASREVIEW, COVIDENCE, EPPI, MPIR = "Rayyan", "ASReview", "Covidence", "EPPI-Reviewer", "mpir"
RAYYAN_SECTIONS = ("RAYYAN-INCLUSION", "RAYYAN-LABELS", "RAYYAN-EXCLUSION-REASONS", "USER-NOTES")
COVIDENCE_LIST = "Covidence list"
"""The field with the list of Covidence that a file's name says: review_12_select_csv_20260101.csv."""
LISTS = {"screen": None, "select": INCLUDED, "irrelevant": EXCLUDED, "included": INCLUDED, "excluded": EXCLUDED}
_LIST_IN_NAME = re.compile(
    rf"(?:^|[_-])({'|'.join(LISTS)})(?:[_-](?:csv|ris))?(?:[_-]\d+)?\.(?:csv|ris)(?:\.gz)?$", re.IGNORECASE
)
_WORDS: dict[str, int | None] = {
    **dict.fromkeys(
        ("include", "included", "1", "1.0", "yes", "y", "true", "relevant", "i", "select", "accept"), INCLUDED
    ),
    **dict.fromkeys(("maybe", "unclear", "unsure", "uncertain", "?"), MAYBE),
    **dict.fromkeys(
        ("exclude", "excluded", "0", "0.0", "no", "n", "false", "irrelevant", "not relevant", "e"), EXCLUDED
    ),
    **dict.fromkeys(("reject", "rejected"), EXCLUDED),
    **dict.fromkeys(("accepted", "selected"), INCLUDED),
    **dict.fromkeys(("", "-1", "-1.0", "undecided", "not seen", "none", "na", "n/a", "nan", "null"), None),
}
_LABELS = (
    *("asreviewlabel", "included", "finalincluded", "labelincluded", "includedlabel", "includedfinal", "includedflag"),
)
"""ASReview's names of the column of labels, but for "label" and "include", which other programs use otherwise."""
_RELEVANT = {"ASReview_relevant": INCLUDED, "ASReview_irrelevant": EXCLUDED}
_FLAGS = ("ie", "includeexclude", "isincluded", "ieflag")
_SECTION = re.compile(rf"(?:^|\|)\s*({'|'.join(RAYYAN_SECTIONS)}):\s*")
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_PAIR = re.compile(rf"{_QUOTED}\s*=>\s*(?:{_QUOTED}|\[((?:{_QUOTED}|[^\]\"])*)\])")
_TEXT = re.compile(_QUOTED)
_LINE = re.compile(r"([^:]{1,40}): (.*)", re.DOTALL)
_GRADE = re.compile(r"Grade (none|[0-3])\. ?(.*)", re.DOTALL)
_GRADES = ("0", "1", "2", "3")
_OTHERS = "Decisions of others: "
OWN_COLUMNS = ("decision", "grade", "note", "decisions of others")
"""Columns in which mpir's tables have decisions."""
_OWN_WORDS = frozenset(("included", "maybe", "excluded", "undecided"))
"""Decisions as mpir's tables and references have them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDecision:
    """A decision in a file: the reviewer or, where the file names none, the tool; `time` in milliseconds, or 0."""

    reviewer: str
    grade: int | None
    note: str = ""
    time: int = 0


def grade_of(text: str) -> int | None:
    """Return the grade of a word or a label of a decision; None for undecided. Raises ValueError for another text."""
    word = " ".join(text.lower().split())
    if word in _WORDS:
        return _WORDS[word]
    begun = re.match(r"(include|exclude|maybe)d?\b", word)  # EPPI-Reviewer's "EXCLUDE on date"
    if begun is None:
        raise ValueError(text)
    return _WORDS[begun[1]]


def list_field(path: str | Path, names: Iterable[str]) -> dict[str, str]:
    """Return the field with the list of Covidence that a file's name says, where it has the field of its numbers."""
    match = _LIST_IN_NAME.search(Path(path).name)
    is_known = match is not None and "covidence" in map(field_name, names)
    return {COVIDENCE_LIST: match[1].lower()} if match and is_known else {}


def decisions_of(document: Document) -> list[SourceDecision]:
    """Return the decisions and notes that tools wrote into a record; an undecided record without a note has none."""
    fields = source_fields(document.metadata)
    named = _by_name(fields)
    readers = (_of_rayyan, _of_asreview, _of_eppi, _of_covidence, _of_mpir)
    decisions = [decision for read in readers for decision in read(fields, named)]
    return list(dict.fromkeys(decision for decision in decisions if decision.grade is not None or decision.note))


def decision_in(document: Document, column: str, reviewer: str) -> list[SourceDecision]:
    """Return the decision in a column that the user names. Raises InputError for a text that is no decision."""
    texts = next((texts for name, texts in source_fields(document.metadata).items() if name == column), [""])
    try:
        grade = grade_of(texts[0])
    except ValueError:
        raise InputError(
            f"column {format_value(column)}: unknown decision of {document.id} (got {format_value(texts[0])}, expected "
            "include, maybe, exclude, 1, 0, -1 or blank). Correct the column, or name another."
        ) from None
    return [] if grade is None else [SourceDecision(reviewer=reviewer, grade=grade)]


def _by_name(fields: Mapping[str, list[str]]) -> dict[str, str]:
    """Return the first text of each field by its normalised name, those in notes such as "Covidence #: 12" included."""
    named = {field_name(name): texts[0] for name, texts in reversed(list(fields.items())) if texts}
    lines = (match for text in notes_of(fields) if (match := _LINE.fullmatch(text)))
    return {**{field_name(match[1]): match[2] for match in lines}, **named}


def notes_of(fields: Mapping[str, list[str]]) -> list[str]:
    """Return the notes of a record."""
    return [text for name, texts in fields.items() if name == "GN" or field_name(name) in REMARKS for text in texts]


def rayyan_sections(text: str) -> list[dict[str, str]]:
    """Return the parts of a note that Rayyan wrote, by their names; what stood there before under "".

    A cell may have the notes of several copies, one after the other.
    """
    pieces = _SECTION.split(text)
    notes = [{"": pieces[0].rstrip(" |")}]
    for name, section in zip(pieces[1::2], pieces[2::2], strict=True):
        if name in notes[-1]:
            notes.append({"": ""})
        notes[-1][name] = section.rstrip(" |")
    return notes


def _of_rayyan(fields: Mapping[str, list[str]], named: Mapping[str, str]) -> Iterator[SourceDecision]:
    for sections in (sections for note in notes_of(fields) for sections in rayyan_sections(note)):
        grades = {
            _unescaped(match[1]): _word(match[2] or "")
            for match in _PAIR.finditer(sections.get(RAYYAN_SECTIONS[0], ""))
        }
        remarks = {
            _unescaped(match[1]): "\n".join(_unescaped(text[1]) for text in _TEXT.finditer(match[3] or ""))
            for match in _PAIR.finditer(sections.get(RAYYAN_SECTIONS[3], ""))
        }
        for reviewer in dict.fromkeys((*grades, *remarks)):
            yield SourceDecision(reviewer=reviewer, grade=grades.get(reviewer), note=remarks.get(reviewer, ""))


def _unescaped(text: str) -> str:
    with suppress(ValueError):
        return str(json.loads(f'"{text}"'))
    return re.sub(r"\\(.)", r"\1", text)


def _of_asreview(fields: Mapping[str, list[str]], named: Mapping[str, str]) -> Iterator[SourceDecision]:
    label = next((named[name] for name in _LABELS if name in named), "")
    grade = _word(label)
    for note in notes_of(fields):
        grade = next((value for word, value in _RELEVANT.items() if word in note.split()), grade)
    ours, note = _ours(fields, named)
    if grade is not None and ours is not None and not _has_grade(named):  # ASReview has no "maybe"
        grade = ours
    notes = [text for name, text in named.items() if name == "asreviewnote" or name.startswith("exportednotes")]
    reviewer = _from_json(named.get("asreviewusername", "")) or ASREVIEW
    time = _milliseconds(_from_json(named.get("asreviewtime", "")))
    yield SourceDecision(reviewer=reviewer, grade=grade, note="\n".join(map(_from_json, notes)), time=time)


def _from_json(text: str) -> str:
    """Return the text in a JSON string, as ASReview writes it into notes."""
    with suppress(ValueError):
        if isinstance(value := json.loads(text), str):
            return value
    return text


def _milliseconds(text: str) -> int:
    with suppress(ValueError, OverflowError):
        if text.replace(".", "", 1).isdecimal():
            return round(float(text) * 1000)
        moment = datetime.fromisoformat(text)
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    return 0


def _of_eppi(fields: Mapping[str, list[str]], named: Mapping[str, str]) -> Iterator[SourceDecision]:
    ours, note = _ours(fields, named) if "u1" in named else (None, "")
    flag = _word(next((named[name] for name in _FLAGS if name in named), ""))
    yield SourceDecision(reviewer=EPPI, grade=flag if ours is None else ours, note=note)


def _of_covidence(fields: Mapping[str, list[str]], named: Mapping[str, str]) -> Iterator[SourceDecision]:
    if not is_of_covidence(named):
        return
    grade = LISTS.get(named.get(field_name(COVIDENCE_LIST), "screen"))
    if any("Exclusion reason:" in note for note in notes_of(fields)) and grade is None:
        grade = EXCLUDED
    ours, note = _ours(fields, named) if not _has_grade(named) else (None, "")
    yield SourceDecision(reviewer=COVIDENCE, grade=grade if ours is None else ours, note=note)


def without_own_decisions(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata without the decisions that mpir wrote to the source's fields, which new ones replace.

    Columns such as `note` are the source's own where no decision of mpir stands beside them.
    """
    every = source_fields(metadata)
    is_own = any(text in _OWN_WORDS for text in every.get("decision", ()))
    fields = {
        name: [text for text in texts if not (_GRADE.fullmatch(text) or text.startswith(_OTHERS))]
        for name, texts in every.items()
        if name not in ((*OWN_COLUMNS, COVIDENCE_LIST) if is_own else (COVIDENCE_LIST,))
    }
    return {**metadata, SOURCE_FIELDS: {name: texts for name, texts in fields.items() if texts}}


def is_of_covidence(named: Mapping[str, str]) -> bool:
    """Whether a record is of Covidence, by the normalised names of its fields."""
    return "covidence" in named or field_name(COVIDENCE_LIST) in named


def _ours(fields: Mapping[str, list[str]], named: Mapping[str, str]) -> tuple[int | None, str]:
    """Return the grade and the note that mpir wrote into a record for a program that has no field for them."""
    grade, note = _word(named.get("decision", "")), named.get("note", "") if _has_decision(named) else ""
    if "decision" in named and _has_grade(named):
        grade = int(named["grade"])
    for match in filter(None, map(_GRADE.fullmatch, notes_of(fields))):
        grade, note = int(match[1]) if match[1] in _GRADES else None, match[2]
    return grade, note


def _has_grade(named: Mapping[str, str]) -> bool:
    """Whether a record has a grade of mpir's; GRADE's "moderate" is another."""
    return named.get("grade", "") in _GRADES


def _has_decision(named: Mapping[str, str]) -> bool:
    return "decision" in named and (_word(named["decision"]) is not None or named["decision"].lower() in _WORDS)


def _of_mpir(fields: Mapping[str, list[str]], named: Mapping[str, str]) -> Iterator[SourceDecision]:
    for text in (*notes_of(fields), _OTHERS + named.get("decisionsofothers", "")):
        if text.startswith(_OTHERS):
            yield from _others(text.removeprefix(_OTHERS))
    is_of_tool = is_of_covidence(named) or "u1" in named or any(name in named for name in _LABELS)
    if _has_grade(named) or not is_of_tool:
        grade, note = _ours(fields, named)
        yield SourceDecision(reviewer=MPIR, grade=grade, note=note)


def _others(text: str) -> Iterator[SourceDecision]:
    for piece in filter(None, text.split("; ")):
        reviewer, _, word = piece.rpartition(": ")
        if reviewer:
            yield SourceDecision(reviewer=reviewer, grade=_word(word))


def _word(text: str) -> int | None:
    """Return the grade of a word; None for one that is not understood, which stays in its field."""
    with suppress(ValueError):
        return grade_of(text)
    return None
