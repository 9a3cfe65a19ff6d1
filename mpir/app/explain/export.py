"""Export a review: the decisions in the form of a screening tool, or the list of the files' records that it joined."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from mpir.app.explain.review import Record, Review
from mpir.core.text import Document
from mpir.errors import InputError, format_names, format_value
from mpir.files.corpora.formula_guard import guarded
from mpir.files.corpora.screening_exports import FORMS, SINGLE, Screened, covidence_lists, is_of_tool
from mpir.files.write import atomic_write

COVIDENCE, SOURCES = "covidence", "sources"
EXPORTS = (*FORMS, COVIDENCE, SOURCES)
"""Names of the forms."""
Decisions = dict[str, tuple[int | None, str]]


def suffix_of(form: str) -> str:
    """Return the suffix of a form's files."""
    return ".ris" if form in (COVIDENCE, "eppi") else ".csv"


def export_texts(review: Review, output: Path, form: str, reviewer: str) -> dict[Path, str]:
    """Return the texts of a form by file: one for `output`, or for Covidence one for each list, named behind it.

    Each record goes out as the tool's files had it, once for each key, so that as many records go back as came.

    Raises:
        InputError: a form with one decision needs a reviewer, and the review has several.
    """
    if form == SOURCES:
        return {output: _sources(review.records())}
    first = _reviewer(review, form, reviewer)
    records = list(_screened(review, form, first))
    if form == COVIDENCE:
        texts = covidence_lists(records)
        return {output.with_name(f"{output.stem}_{name}{output.suffix}"): text for name, text in texts.items()}
    return {output: FORMS[form](records)}


def write_texts(texts: dict[Path, str]) -> None:
    """Write each text to its file. Raises OutputError."""
    for path, text in texts.items():
        with atomic_write(path) as stream:
            stream.write(text)


def _reviewer(review: Review, form: str, reviewer: str) -> str:
    """Return the reviewer whose decisions count first; another is asked for where a form has one decision."""
    names = review.reviewers()
    if reviewer in names or form not in SINGLE:
        return reviewer
    people = [name for name in names if name not in SINGLE.values()] or names
    if len(people) > 1:
        raise InputError(
            f"{review.path}: {format_value(reviewer)} decided nothing (expected one of {format_names(people)}). "
            "Name the reviewer."
        )
    return people[0] if people else reviewer


def _screened(review: Review, form: str, first: str) -> Iterator[Screened]:
    tools = [name for name in SINGLE.values() if name != first]
    names = sorted(review.reviewers(), key=lambda name: (name != first, name in tools, name))
    by_record: dict[str, Decisions] = {}
    for name in names:
        for decision in review.decisions(name):
            by_record.setdefault(decision["id"], {})[name] = decision["grade"], decision["note"]
    for record in review.records():
        decisions = by_record.get(record.document.id, {})
        if form in SINGLE and form != "csv":
            decisions = {name: value for name, value in decisions.items() if name in (first, SINGLE[form])}
        for document in _documents(record, form):
            yield Screened(document=document, decisions=_of_first(decisions, first))


def _of_first(decisions: Decisions, first: str) -> Decisions:
    """Return the decisions with the first reviewer's in front, even an undecided one."""
    return {first: decisions.get(first, (None, "")), **decisions}


def _documents(record: Record, form: str) -> Iterator[Document]:
    """Yield the records of the tool's files that a record joins, or the record itself."""
    own = [source.document for source in record.sources if is_of_tool(source.document, form)]
    yield from own or [record.document]


def _sources(records: Sequence[Record]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(("record", "source", "outcome", "read", "title"))
    for record in records:
        for source in record.sources:
            read = datetime.fromtimestamp(source.time / 1000, UTC).isoformat(timespec="seconds")
            cells = (record.document.id, source.document.id, source.outcome, read, source.document.title)
            writer.writerow(map(guarded, cells))
    return stream.getvalue()
