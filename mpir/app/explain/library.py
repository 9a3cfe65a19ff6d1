"""The documents of the explain page: the records of a review file, which the files that are named join."""

from __future__ import annotations

import getpass
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mpir.app.explain.decision import Decision, grades_path, read_grades
from mpir.app.explain.import_decisions import import_decisions, read_decisions
from mpir.app.explain.join import join, split
from mpir.app.explain.review import Record, Review
from mpir.core.text import Document
from mpir.errors import InputError, error_context, format_names, format_value
from mpir.files.corpora.content import fingerprint_of, fits
from mpir.files.corpora.screening_exports import SINGLE

SUFFIX = ".mpir"
MODE = "documents"
"""The name by which the page asks for these documents."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Library:
    """The records of a review, and the name of the person who decides on them."""

    review: Review
    reviewer: str
    records: tuple[Record, ...] = field(repr=False)
    note: str = ""
    """What became of the files' records."""

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """The documents that are ranked."""
        return tuple(record.document for record in self.records)

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """Each record's fingerprint by its id."""
        return {document.id: fingerprint_of(document) for document in self.documents}

    @property
    def label(self) -> str:
        """What the page calls the documents."""
        return f"{self.review.path.name} ({len(self.records)} documents)"

    def decisions(self) -> list[Decision]:
        """Return the reviewer's latest decision on each record."""
        return self.review.decisions(self.reviewer)

    def other_decisions(self) -> list[Decision]:
        """Return the latest decisions of other reviewers, each with its reviewer's name."""
        names = [name for name in self.review.reviewers() if name != self.reviewer]
        return [{**decision, "reviewer": name} for name in names for decision in self.review.decisions(name)]

    def add(self, decisions: Iterable[Decision]) -> None:
        """Store decisions of the reviewer.

        Raises:
            InputError: a decision is on no record of the review, or its fingerprint is another record's.
            OutputError: the file cannot be written.
        """
        checked = [self._checked(decision) for decision in decisions]
        if checked:
            self.review.add(checked, self.reviewer)

    def _checked(self, decision: Decision) -> Decision:
        fingerprint = self.fingerprints.get(decision["id"])
        if fingerprint is None or not fits(decision.get("fingerprint", fingerprint), fingerprint):
            raise InputError(
                f"{self.review.path.name}: has no record {format_value(decision['id'])} with these words; reload the "
                "page, and export its decisions if they are not there then."
            )
        return {**decision, "fingerprint": fingerprint}


def open_library(paths: Sequence[str], reviewer: str = "", *, column: str = "", split_id: str = "") -> Library:
    """Open the review that is named or that lies beside the files, or make it, and add what is new in the files.

    Args:
        paths: files and folders with records, and at most one review.
        reviewer: the person who decides (default: the account).
        column: a column of the files with decisions of the reviewer.
        split_id: the id of a source to take out of the record that it was joined with.

    Raises:
        InputError: a file that cannot be read, several reviews, no decisions in the column, or nothing to take out.
        OutputError: the review cannot be written.
    """
    files = [Path(path).absolute() for path in paths if not path.endswith(SUFFIX)]
    path = _review_path([Path(path).absolute() for path in paths if path.endswith(SUFFIX)], files)
    review = Review(path) if path.exists() or not files else None  # before files are read, which may take long
    grades = {file: list(read_grades(file)) for file in _grades_files(files, review)}
    reviewer, documents = reviewer or account(), _read(files)
    with error_context(path.name):
        decided = read_decisions(documents, column, reviewer)
    review = review or Review(path)
    if split_id:
        _split(review, split_id)
    notes = [_add_documents(review, documents)] if files else []
    records = tuple(review.records())
    notes += [note] if (note := import_decisions(review, records, decided)) else []
    library = Library(
        review=review, reviewer=reviewer, records=records, note=f"{path.name}: {'; '.join(notes)}" if notes else ""
    )
    for file, decisions in grades.items():
        _add_grades(library, file, decisions)
    return library


def only_reviewer(review: Review) -> str:
    """Return whose decisions count where nobody is named: those of the user's account, else of the only person.

    Raises InputError where several people decided, and none under the account's name.
    """
    names = review.reviewers()
    people = [name for name in names if name not in SINGLE.values()] or names
    if account() in names or not people:
        return account()
    if len(people) > 1:
        raise InputError(
            f"{review.path}: {format_value(account())} decided nothing (got decisions of {format_names(people)}, "
            "expected those of one person). Export one person's decisions as a table, and give that."
        )
    return people[0]


def account() -> str:
    """Return the name of the user's account, by which decisions are told apart."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an id without a name, as in containers
        return "reviewer"


def _review_path(named: Sequence[Path], files: Sequence[Path]) -> Path:
    """Return the review that is named, else the one beside a file, else a new name beside the first file by name."""
    beside = sorted({path.with_name(f"{_stem(path)}{SUFFIX}") for path in files})
    if missing := [path for path in named if not path.exists() and not files]:
        raise InputError(f"{missing[0]}: no such review; name the files with its records, too.")
    present = list(named) or [path for path in beside if path.exists()]
    if len(present) > 1:
        raise InputError(
            f"{format_names([str(path) for path in present])}: several reviews; name the one to open, as in "
            f"`mpir explain {present[0].name} FILES`, with no other beside the files."
        )
    return present[0] if present else beside[0]


def _stem(path: Path) -> str:
    return path.name if path.is_dir() else Path(path.name.removesuffix(".gz")).stem


def _grades_files(files: Sequence[Path], review: Review | None) -> list[Path]:
    """Return the files of older versions beside these that have not been read."""
    return [
        path
        for path in dict.fromkeys(map(grades_path, files))
        if path.is_file() and (review is None or not review.setting(f"read {path.name}"))
    ]


def _read(files: Sequence[Path]) -> list[Document]:
    from mpir.files.corpora.corpus import naming_places, read_corpus
    from mpir.files.corpora.deduplicate import without_copies
    from mpir.reranking.inputs import as_documents

    if not files:
        return []
    with naming_places(files):
        documents = list(read_corpus(files))
        as_documents(without_copies(documents))  # refuses ids that are not unique
    return documents


def _add_documents(review: Review, documents: Sequence[Document]) -> str:
    result = join(review.records(), documents)
    if result.records:  # a review that is read only can be shown
        review.put_records(result.records)
    return str(result)


def _split(review: Review, identity: str) -> None:
    records = review.records()
    joined = [record for record in records if any(source.document.id == identity for source in record.sources)]
    if not joined:
        raise InputError(f"{review.path}: has no source {format_value(identity)} (expected an id of a joined record).")
    record = max(joined, key=lambda record: len(record.sources))
    review.split(record, split(record, identity, {record.document.id for record in records}))


def _add_grades(library: Library, path: Path, decisions: Iterable[Decision]) -> None:
    """Take over the decisions of a file of an older version, once; what fits no record stays there and is named."""
    by_name = {name: record for record in library.records for name, _ in record.names}
    taken, strange = list[Decision](), list[str]()
    for decision in decisions:
        record = by_name.get(decision["id"])
        if record is None or not _is_of(decision, record):
            strange.append(decision["id"])
            continue
        identity = record.document.id
        taken.append({**decision, "id": identity, "fingerprint": library.fingerprints[identity]})
    library.review.add(taken, library.reviewer)
    library.review.set_setting(f"read {path.name}", str(len(taken)))
    if strange:
        log.warning(
            "%s: %d decisions name no record that is here (%s), so they were not taken over; they stay in that file",
            path,
            len(strange),
            format_names(sorted(set(strange))),
        )


def _is_of(decision: Decision, record: Record) -> bool:
    fingerprint = decision.get("fingerprint", "")
    return not fingerprint or any(fits(fingerprint, known) for _, known in record.names)
