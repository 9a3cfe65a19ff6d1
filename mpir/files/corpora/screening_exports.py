"""Write decisions in the forms that screening tools import: Rayyan, Covidence, ASReview and EPPI-Reviewer.

Rayyan reads the columns of its own export, and ASReview a column of labels. Covidence and EPPI-Reviewer read references
(RIS) and no decisions: Covidence takes a file for each of its lists, and in EPPI-Reviewer the decision is a keyword.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mpir.core.text.types import Document
from mpir.files.corpora.bibliography import Bibliography
from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.fields import REMARKS
from mpir.files.corpora.formula_guard import guarded
from mpir.files.corpora.ris_lines import reference_text, ris_fields
from mpir.files.corpora.screening_tools import (
    ASREVIEW,
    COVIDENCE,
    EPPI,
    EXCLUDED,
    MAYBE,
    MPIR,
    OWN_COLUMNS,
    RAYYAN_SECTIONS,
    notes_of,
    rayyan_sections,
    without_own_decisions,
)
from mpir.files.corpora.source_fields import as_columns, as_tags, source_fields

RAYYAN_COLUMNS = (
    *("key", "title", "year", "month", "day", "journal", "issn", "volume", "issue", "pages", "authors", "url"),
    *("language", "publisher", "location", "abstract", "notes", "doi", "keywords", "pubmed_id", "pmc_id"),
)
_OF_ASREVIEW = ("asreview_label", "asreview_note", "asreview_time", "asreview_user_name")
_LABELS = {"included": "1", "maybe": "1", "excluded": "0"}
_TOOLS = {
    "rayyan": ("key", "id"),
    "covidence": ("covidence",),
    "asreview": ("asreviewlabel", "included", "recordid", "asreviewprior"),
    "eppi": ("u1", "itemid"),
}
"""Normalised names of fields by which a record is known to be of a tool."""
SINGLE = {"covidence": COVIDENCE, "asreview": ASREVIEW, "eppi": EPPI, "csv": MPIR}
"""Forms with the decision of one reviewer, and the name under which such a tool's decisions were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """A record as its file had it, and the grade and note of each reviewer; the first one's decision is the record's.

    A form with one decision has that of the first reviewer with a grade.
    """

    document: Document
    decisions: Mapping[str, tuple[int | None, str]]

    @property
    def word(self) -> str:
        """The decision: included, maybe, excluded, or undecided."""
        return word_of(next((grade for grade, _ in self.decisions.values() if grade is not None), None))

    @property
    def note(self) -> str:
        """The note of the first reviewer with one."""
        return next((note for _, note in self.decisions.values() if note), "")


def word_of(grade: int | None) -> str:
    """Return the word of a grade."""
    if grade is None:
        return "undecided"
    return "excluded" if grade == EXCLUDED else "maybe" if grade == MAYBE else "included"


def is_of_tool(document: Document, form: str) -> bool:
    """Whether a record came from the tool of a form, so that it goes back with its key."""
    names = {field_name(name) for name in source_fields(document.metadata)}
    lines = {field_name(text.partition(":")[0]) for text in notes_of(source_fields(document.metadata)) if ":" in text}
    return any(name in names | lines for name in _TOOLS.get(form, ()))


def rayyan_csv(records: Sequence[Screened]) -> str:
    """Return Rayyan's table: key and notes with the decisions and notes of all reviewers, labels and reasons kept."""
    return _table([_rayyan_row(record) for record in records], RAYYAN_COLUMNS)


def _rayyan_row(record: Screened) -> dict[str, str]:
    document, known, fields = record.document, Bibliography.of(record.document.metadata), _fields(record.document)
    year, _, rest = known.date.partition("-")
    month, _, day = rest.partition("-")
    columns = {
        **{
            "key": document.id,
            "title": document.title,
            "year": year or str(known.year or ""),
            "month": month,
            "day": day,
        },
        **{"journal": known.journal, "issn": known.issn, "volume": known.volume, "issue": known.issue},
        **{"pages": known.pages, "authors": " and ".join(known.authors), "url": known.url},
        **{"language": "; ".join(known.language), "publisher": known.publisher, "abstract": document.abstract},
        **{"doi": known.doi, "keywords": "; ".join(known.keywords), "pubmed_id": known.pmid, "pmc_id": known.pmcid},
    }
    own = {name: text for name, text in fields.items() if field_name(name) not in REMARKS and name != "ID"}
    key = {"key": fields["ID"]} if "ID" in fields and "key" not in fields else {}
    return {**columns, **own, **key, "notes": _rayyan_notes(record)}


def _rayyan_notes(record: Screened) -> str:
    """Return a record's notes with the decisions as they are now."""
    notes = [note for text in notes_of(source_fields(record.document.metadata)) for note in rayyan_sections(text)]
    decided = {name: grade for name, (grade, _) in record.decisions.items() if grade is not None}
    remarks = {name: note.splitlines() for name, (_, note) in record.decisions.items() if note}
    kept = dict.fromkeys((name, note[name]) for name in RAYYAN_SECTIONS[1:3] for note in notes if note.get(name))
    inclusion = ", ".join(f"{_quoted(name)}=>{_quoted(word_of(grade).title())}" for name, grade in decided.items())
    said = ", ".join(f"{_quoted(name)}=>[{', '.join(map(_quoted, lines))}]" for name, lines in remarks.items())
    sections = [
        *((RAYYAN_SECTIONS[0], f"{{{inclusion}}}") for _ in [0] if decided),
        *kept,
        *((RAYYAN_SECTIONS[3], f"{{{said}}}") for _ in [0] if remarks),
    ]
    before = [note[""] for note in notes if note[""]]
    return " | ".join([*before, *(f"{name}: {text}" for name, text in sections)])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def asreview_csv(records: Sequence[Screened]) -> str:
    """Return ASReview's table: the record's own columns, `included` (1, 0 or blank) and notes.

    ASReview has no "maybe"; it is 1, and the column `decision` says which records are so.
    """
    return _table([_asreview_row(record) for record in records], ("title", "abstract", "included"))


def _asreview_row(record: Screened) -> dict[str, str]:
    columns = _columns(record.document)
    own = {n: text for n, text in _fields(record.document, (*columns, "decision")).items() if n not in _OF_ASREVIEW}
    label = _LABELS.get(record.word, "")
    decided = {"included": label, "decision": "maybe" if record.word == "maybe" else "", "asreview_note": record.note}
    return {**columns, **own, **decided}


def csv_table(records: Sequence[Screened]) -> str:
    """Return a table with every field, the decision and note of the reviewer, and the decisions of others.

    It is one of mpir's own tables, in which an apostrophe precedes formulas.
    """
    rows = []
    for rank, record in enumerate(records, 1):
        reviewers = list(record.decisions.items())
        grade, note = reviewers[0][1] if reviewers else (None, "")
        others = "; ".join(f"{name}: {word_of(value)}" for name, (value, _) in reviewers[1:] if value is not None)
        own = {"decision": word_of(grade), "grade": "" if grade is None else str(grade), "note": note}
        row = {"rank": str(rank), "document": record.document.id, **_columns(record.document)}
        row |= {**_fields(record.document, (*row, *OWN_COLUMNS)), **own, "decisions of others": others}
        rows.append({name: guarded(text) for name, text in row.items()})
    return _table(rows, ("rank", "document", "title", "abstract", "decision", "grade", "note"))


def _columns(document: Document) -> dict[str, str]:
    known = Bibliography.of(document.metadata).metadata()
    texts = {name: "; ".join(value) if isinstance(value, list) else str(value) for name, value in known.items()}
    return {"title": document.title, "abstract": document.abstract, **texts}


def _fields(document: Document, used: Iterable[str] = ()) -> dict[str, str]:
    """Return the fields of a record's source as `as_columns`, without the decisions that mpir wrote there."""
    return as_columns(without_own_decisions(document.metadata), used)


def _table(rows: Sequence[dict[str, str]], first: Iterable[str]) -> str:
    """Return a CSV text with these columns, and behind them every other one of the rows."""
    stream = io.StringIO()
    heads = list(dict.fromkeys((*first, *(name for row in rows for name in row))))
    writer = csv.DictWriter(stream, heads, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def covidence_lists(records: Sequence[Screened]) -> dict[str, str]:
    """Return the references of each of Covidence's lists that has any: select (full text), irrelevant and screen."""
    names = {"included": "select", "maybe": "select", "excluded": "irrelevant", "undecided": "screen"}
    lists: dict[str, list[str]] = {}
    for record in records:
        lists.setdefault(names[record.word], []).append(reference_text(_reference(record, covidence=True)))
    return {name: "".join(texts) for name, texts in lists.items()}


def eppi_ris(records: Sequence[Screened]) -> str:
    """Return references for EPPI-Reviewer: its id in U1, and the decision as a keyword."""
    return "".join(reference_text(_reference(record)) for record in records)


def _reference(record: Screened, *, covidence: bool = False) -> Iterator[tuple[str, object]]:
    document, known = record.document, Bibliography.of(record.document.metadata)
    fields = source_fields(document.metadata)
    yield "TY", known.reference_type or "JOUR"
    yield "KW", f"mpir {record.word}" if record.word != "undecided" else ""
    yield from ris_fields(known, document.id, document.title, document.abstract)
    if not covidence and "U1" not in fields:
        yield "U1", next((texts[0] for name, texts in fields.items() if field_name(name) == "itemid"), "")
    yield from as_tags(without_own_decisions(document.metadata))
    yield "N1", record.note and f"Grade {_GRADES[record.word]}. {record.note}"


_GRADES: dict[str, Any] = {"included": 2, "maybe": 1, "excluded": 0, "undecided": "none"}
FORMS: dict[str, Callable[[Sequence[Screened]], str]] = {
    "rayyan": rayyan_csv,
    "asreview": asreview_csv,
    "eppi": eppi_ris,
    "csv": csv_table,
}
"""The writers of forms that are one file."""
