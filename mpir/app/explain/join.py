"""Join the records of files with those of a review: the same papers by id and words, as duplicates are recognised."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mpir.app.explain.review import Name, Record
from mpir.core.text import Document
from mpir.files.corpora.content import fingerprint_of, fits, shared_id, unused_id
from mpir.files.corpora.deduplicate import without_copies
from mpir.files.corpora.identifiers import REGISTRIES, AccessionNumber, ListId

_MARK = "\0"
"""The beginning of a key of metadata that says which records a merged one has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The records that are new or have something new, and what became of the files' records.

    `changed` are known records with other words.
    """

    records: list[Record]
    new: int
    known: int
    changed: int
    copies: int

    def __str__(self) -> str:
        changed = f" ({self.changed} with other words)" if self.changed else ""
        return f"{self.new} new, {self.known} known{changed}, {self.copies} left out as copies"


def join(known: Sequence[Record], documents: Sequence[Document]) -> Joined:
    """Return the records of a review with documents of files; a known record keeps its id and gets every other one."""
    distinct = without_copies(documents)
    partners = _partners(known, distinct)
    used = {record.document.id for record in known}
    new, joined, changed = list[Record](), dict[int, Record](), 0
    for number, document in enumerate(distinct):
        if (partner := partners.get(number)) is None:
            new.append(_new(document, used))
            continue
        record = joined.get(partner, known[partner])
        joined[partner] = _merged(record, document)
        changed += fingerprint_of(document) not in {fingerprint for _, fingerprint in record.names}
    copies = len(documents) - len(distinct)
    return Joined(
        records=[*(joined[n] for n in joined if _has_more(joined[n], known[n])), *new],
        new=len(new),
        known=len(distinct) - len(new),
        changed=changed,
        copies=copies,
    )


def _has_more(record: Record, before: Record) -> bool:
    """Whether a record differs; documents are equal without their metadata."""
    return record != before or dict(record.document.metadata) != dict(before.document.metadata)


def _partners(known: Sequence[Record], documents: Sequence[Document]) -> dict[int, int]:
    """Return the numbers of known records by those of the documents that are the same papers."""
    by_id = defaultdict[str, list[tuple[int, str]]](list)
    for number, record in enumerate(known):
        for name, fingerprint in sorted(record.names):
            by_id[name].append((number, fingerprint))
    partners = dict[int, int]()
    for number, document in enumerate(documents):
        fingerprint = fingerprint_of(document)
        same_id = [*by_id[document.id], *by_id[shared_id(document)]]
        if alike := [partner for partner, value in same_id if fits(value, fingerprint)]:
            partners[number] = alike[0]
    others = [number for number in range(len(documents)) if number not in partners]
    for papers in partners_of([*map(as_read, known), *(documents[number] for number in others)]) if others else ():
        if papers[0] < len(known):
            partners |= {others[paper - len(known)]: papers[0] for paper in papers if paper >= len(known)}
    return partners


def partners_of(documents: Sequence[Document]) -> list[list[int]]:
    """Return the numbers of the documents that are one paper, for each paper with several."""
    marked = [_marked(document, str(number)) for number, document in enumerate(documents)]
    papers = (
        sorted(int(key.removeprefix(_MARK)) for key in paper.metadata if key.startswith(_MARK))
        for paper in without_copies(marked)
    )
    return [numbers for numbers in papers if len(numbers) > 1]


def _marked(document: Document, mark: str) -> Document:
    return replace(document, metadata={**document.metadata, f"{_MARK}{mark}": True})


def as_read(record: Record) -> Document:
    """Return a record's document with its id of the class that readers give it."""
    document = record.document
    return replace(document, id=ListId(document.id)) if record.is_local else document


def _new(document: Document, used: set[str]) -> Record:
    """Return the record of a document, whose id another record may have."""
    identity = unused_id(document, shared_id(document), used) if document.id in used else document.id
    used.add(identity)
    is_local = isinstance(document.id, AccessionNumber)
    metadata = dict(document.metadata)
    return Record(
        document=Document(str(identity), document.title, document.abstract, metadata=metadata),
        is_local=is_local,
        names=frozenset({(str(identity), fingerprint_of(document)), *_names(document)}),
    )


def _merged(record: Record, document: Document) -> Record:
    """Return a known record with the longer text, every field and every id of both."""
    present = record.document
    longest = max(present, document, key=lambda item: len(item.text))
    lists = {
        name: list(dict.fromkeys([*value, *present.metadata.get(name, ())]))
        for name, value in document.metadata.items()
        if isinstance(value, list) and isinstance(present.metadata.get(name, []), list)
    }
    metadata = {**document.metadata, **present.metadata, **lists}
    merged = Document(present.id, longest.title or present.title, longest.abstract, metadata=metadata)
    names = {(merged.id, fingerprint_of(merged)), *_names(document)}
    return Record(document=merged, is_local=record.is_local, names=record.names | names)


def _names(document: Document) -> Iterable[Name]:
    """Return every id of a document with its fingerprint."""
    fingerprint = fingerprint_of(document)
    ids = [document.id, *(document.metadata.get(name) for name in ("doi", *REGISTRIES))]
    return [(str(identity), fingerprint) for identity in ids if identity]
