"""Take over the decisions in the files of screening tools, each under the name of its reviewer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from mpir.app.explain.decision import LATEST, LONGEST_NOTE, Decision
from mpir.app.explain.review import Record, Review, milliseconds
from mpir.core.text import Document
from mpir.errors import InputError, format_names
from mpir.files.corpora.content import fingerprint_of
from mpir.files.corpora.screening_tools import SourceDecision, decision_in, decisions_of
from mpir.files.corpora.source_fields import source_fields

FROM_FILE = ""
"""The question of a decision that was read in a file."""


def read_decisions(
    documents: Sequence[Document], column: str, reviewer: str
) -> list[tuple[Document, list[SourceDecision]]]:
    """Return each document's decisions: those of tools, and the reviewer's own in a column that the user names.

    Raises:
        InputError: no document has the column, or a text in it is no decision.
    """
    if column and not any(column in source_fields(document.metadata) for document in documents):
        names = format_names(sorted({name for document in documents for name in source_fields(document.metadata)}))
        raise InputError(f"no column {column!r} with decisions (got {names or 'none'}). Name one of these.")
    own = [decision_in(document, column, reviewer) if column else [] for document in documents]
    return [
        (document, [*decisions_of(document), *decisions]) for document, decisions in zip(documents, own, strict=True)
    ]


def import_decisions(
    review: Review, records: Iterable[Record], decisions: Sequence[tuple[Document, list[SourceDecision]]]
) -> str:
    """Store what no file said before of a record, and return a sentence about it, or "".

    A decision without a time is made now. One that an earlier file said already stays as old as it was, so that the
    same file, opened again, replaces no later decision; what a later file has changed is counted, not changed back.
    """
    owner = {name: record for record in records for name in record.names}
    rows = sorted((row for row in review.decision_rows() if row[5] == FROM_FILE), key=lambda row: row[4])
    earlier, last = {row[:4] for row in rows}, {row[:2]: row[:4] for row in rows}
    now, added, changed_back = milliseconds(), defaultdict[str, list[Decision]](list), 0
    grades = defaultdict[tuple[str, str], set[int]](set)
    for document, of_document in decisions:
        record = owner[str(document.id), fingerprint_of(document)]
        identity = record.document.id
        for decision in of_document:
            note = decision.note[:LONGEST_NOTE]
            said = (identity, decision.reviewer, decision.grade, note)
            if said in earlier:
                changed_back += said != last[said[:2]]
                continue
            earlier.add(said)
            if decision.grade is not None:
                grades[said[:2]].add(decision.grade)
            last[said[:2]] = said
            values = {"grade": decision.grade, "note": note, "time": min(decision.time or now, LATEST)}
            fingerprint = fingerprint_of(record.document)
            added[decision.reviewer].append({"id": identity, "query": FROM_FILE, "fingerprint": fingerprint, **values})
    for reviewer, items in added.items():
        review.add(items, reviewer)
    counts = Counter({reviewer: len(items) for reviewer, items in added.items()})
    names = ", ".join(f"{count} of {reviewer}" for reviewer, count in sorted(counts.items()))
    differing = sorted({identity for (identity, _), of_record in grades.items() if len(of_record) > 1})
    cut = sum(len(decision.note) > LONGEST_NOTE for _, of_document in decisions for decision in of_document)
    sentences = [
        f"decisions read: {names}" if names else "",
        f"records on whose copies one person decided differently: {len(differing)} ({format_names(differing)}); "
        "the latest decision counts, of one time the highest"
        if differing
        else "",
        f"notes cut to {LONGEST_NOTE:,} characters: {cut}" if cut else "",
        f"decisions that an earlier file had before a later one changed them, not read again: {changed_back}"
        if changed_back
        else "",
    ]
    return "; ".join(filter(None, sentences))
