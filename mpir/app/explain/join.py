"""Join the records of files with those of a review: the same papers by id and words, as duplicates are recognised."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from mpir.app.explain.review import Name, Record, Source, milliseconds
from mpir.core.text import Document
from mpir.errors import InputError, format_value
from mpir.files.corpora.content import fingerprint_of, fits, shared_id, unused_id
from mpir.files.corpora.deduplicate import without_copies
from mpir.files.corpora.identifiers import REGISTRIES, AccessionNumber, ListId
from mpir.files.corpora.source_fields import SOURCE_FIELDS, source_fields, united

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
    time, owner = milliseconds(), _owners(known)
    groups = _groups(documents, owner)
    partners = _partners(known, [distinct for distinct, _ in groups], owner)
    used = {record.document.id for record in known}
    new, joined, changed = list[Record](), dict[int, Record](), 0
    for number, (distinct, copies) in enumerate(groups):
        if (partner := partners.get(number)) is None:
            outcomes = ["new", *["copy"] * (len(copies) - 1)]
            record = _new(distinct, used)
        else:
            present = joined.get(partner, known[partner])
            is_changed = fingerprint_of(distinct) not in {fingerprint for _, fingerprint in present.names}
            changed += is_changed
            outcomes = ["changed" if is_changed else "joined", *["copy"] * (len(copies) - 1)]
            record = _merged(present, distinct)
        for document, outcome in zip(copies, outcomes, strict=True):
            record = _with_source(record, Source(document=_plain(document), time=time, outcome=outcome))
        if partner is None:
            new.append(record)
        else:
            joined[partner] = record
    return Joined(
        records=[
            *(joined[n] for n in joined if joined[n].values() != known[n].values() or joined[n] != known[n]),
            *new,
        ],
        new=len(new),
        known=len(groups) - len(new),
        changed=changed,
        copies=len(documents) - len(groups),
    )


def split(record: Record, identity: str, used: Iterable[str]) -> list[Record]:
    """Return the record without the source of this id, and a record of that source.

    Of sources with one id, those of the first one's words stay together. Raises InputError where nothing was joined.
    """
    leaving = [source for source in record.sources if source.document.id == identity]
    staying = [source for source in record.sources if source.document.id != identity]
    if not staying and leaving:
        first = fingerprint_of(leaving[0].document)
        staying = [source for source in leaving if fits(fingerprint_of(source.document), first)]
        leaving = [source for source in leaving if source not in staying]
    if not (staying and leaving):
        raise InputError(
            f"{format_value(identity)}: nothing was joined with this record (expected a source of several)."
        )
    if record.document.id == leaving[0].document.id:
        staying, leaving = leaving, staying
    ids = {record.document.id, *used}
    return [of_sources(staying, ids, record.document.id), of_sources(leaving, ids)]


def of_sources(sources: Sequence[Source], used: set[str], identity: str = "") -> Record:
    """Return the record that sources make, taken apart from others; its id is one of theirs that is not used."""
    first = sources[0].document
    name = identity or next((source.document.id for source in sources if source.document.id not in used), "")
    base = Document(name or str(unused_id(first, first.id, used)), first.title, first.abstract, metadata=first.metadata)
    record = _record(base, is_local=False)
    record = reduce(_merged, (source.document for source in sources), record)
    return replace(record, sources=tuple(sources), is_split=True)


def _owners(known: Sequence[Record]) -> dict[Name, int]:
    """Return the number of the record that was taken apart by each of its names."""
    return {name: number for number, record in enumerate(known) if record.is_split for name in record.names}


def _groups(documents: Sequence[Document], owner: dict[Name, int]) -> list[tuple[Document, list[Document]]]:
    """Return each paper once with its copies; those of records that were taken apart are copies of nothing else."""
    apart = [number for number, document in enumerate(documents) if name_of(document) in owner]
    others = [number for number, document in enumerate(documents) if name_of(document) not in owner]
    papers = without_copies(_marked(documents[number], str(number)) for number in others)
    groups = [(_without_marks(paper), [documents[number] for number in _marks(paper)]) for paper in papers]
    return [*((documents[number], [documents[number]]) for number in apart), *groups]


def name_of(document: Document) -> Name:
    """Return the id and the fingerprint by which a source is told from others."""
    return str(document.id), fingerprint_of(document)


def _partners(known: Sequence[Record], documents: Sequence[Document], owner: dict[Name, int]) -> dict[int, int]:
    """Return the numbers of known records by those of the documents that are the same papers."""
    by_id = defaultdict[str, list[tuple[int, str]]](list)
    for number, record in enumerate(known):
        for name, fingerprint in sorted(record.names):
            by_id[name].append((number, fingerprint))
    partners = dict[int, int]()
    for number, document in enumerate(documents):
        fingerprint = fingerprint_of(document)
        same_id = [*by_id[document.id], *by_id[shared_id(document)]]
        if (partner := owner.get(name_of(document))) is not None:
            partners[number] = partner
        elif alike := [partner for partner, value in same_id if fits(value, fingerprint)]:
            partners[number] = alike[0]
    others = [number for number in range(len(documents)) if number not in partners]
    whole = [number for number, record in enumerate(known) if not record.is_split]
    compared = [*(as_read(known[number]) for number in whole), *(documents[number] for number in others)]
    for papers in partners_of(compared) if others else ():
        if papers[0] < len(whole):
            partners |= {others[paper - len(whole)]: whole[papers[0]] for paper in papers if paper >= len(whole)}
    return partners


def partners_of(documents: Sequence[Document]) -> list[list[int]]:
    """Return the numbers of the documents that are one paper, for each paper with several."""
    papers = map(_marks, without_copies(_marked(document, str(number)) for number, document in enumerate(documents)))
    return [numbers for numbers in papers if len(numbers) > 1]


def _marked(document: Document, mark: str) -> Document:
    return replace(document, metadata={**document.metadata, f"{_MARK}{mark}": True})


def _marks(paper: Document) -> list[int]:
    return sorted(int(key.removeprefix(_MARK)) for key in paper.metadata if key.startswith(_MARK))


def _without_marks(paper: Document) -> Document:
    metadata = {name: value for name, value in paper.metadata.items() if not name.startswith(_MARK)}
    return replace(paper, metadata=metadata)


def as_read(record: Record) -> Document:
    """Return a record's document with its id of the class that readers give it."""
    document = record.document
    return replace(document, id=ListId(document.id)) if record.is_local else document


def _plain(document: Document) -> Document:
    """Return a document as a review stores it."""
    return Document(str(document.id), document.title, document.abstract, metadata=dict(document.metadata))


def _new(document: Document, used: set[str]) -> Record:
    """Return the record of a document, whose id another record may have."""
    identity = unused_id(document, shared_id(document), used) if document.id in used else document.id
    used.add(identity)
    record = _record(replace(_plain(document), id=str(identity)), is_local=isinstance(document.id, AccessionNumber))
    return replace(record, names=record.names | set(_names(document)))


def _record(document: Document, *, is_local: bool) -> Record:
    return Record(document=document, is_local=is_local, names=frozenset(_names(document)))


def _with_source(record: Record, source: Source) -> Record:
    """Return a record with a source, in the place of an earlier one of this id and these words."""
    name, sources = name_of(source.document), list(record.sources)
    for number, known in enumerate(sources):
        if name_of(known.document) == name:
            sources[number] = replace(known, document=source.document)
            break
    else:
        sources.append(source)
    return replace(record, sources=tuple(sources), names=record.names | set(_names(source.document)))


def _merged(record: Record, document: Document) -> Record:
    """Return a known record with the longer text, every field and id of both; of a source's fields, the latest."""
    present = record.document
    longest = max(present, document, key=lambda item: len(item.text))
    lists = {
        name: list(dict.fromkeys([*value, *present.metadata.get(name, ())]))
        for name, value in document.metadata.items()
        if isinstance(value, list) and isinstance(present.metadata.get(name, []), list)
    }
    metadata = {**document.metadata, **present.metadata, **lists}
    if source_fields(metadata):
        earlier = dict(present.metadata.get(SOURCE_FIELDS, {}))
        metadata[SOURCE_FIELDS] = {**earlier, **united(document.metadata, {})}
    merged = Document(present.id, longest.title or present.title, longest.abstract, metadata=metadata)
    names = {(merged.id, fingerprint_of(merged)), *_names(document)}
    return replace(record, document=merged, names=record.names | names)


def _names(document: Document) -> Iterable[Name]:
    """Return every id of a document with its fingerprint."""
    fingerprint = fingerprint_of(document)
    ids = [document.id, *(document.metadata.get(name) for name in ("doi", *REGISTRIES))]
    return [(str(identity), fingerprint) for identity in ids if identity]
