"""Merge review files, such as those of two people: the same result in any order, and no decision is lost."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any
from uuid import uuid4

from mpir.app.explain.join import as_read, name_of, of_sources, partners_of
from mpir.app.explain.review import Name, Record, Review, Row, Source, best_fit
from mpir.core.text import Document
from mpir.files.corpora.content import PREFIX, fits
from mpir.files.corpora.source_fields import SOURCE_FIELDS

Key = tuple[int, str, int]
"""The number of a review, the id of a record in it, and the number of a part of a record that another review split."""


def merge_reviews(reviews: Sequence[Review], path: Path) -> Review:
    """Write the records, questions and decisions of all reviews to a new file; a person's latest decision counts.

    Merging is associative, commutative and idempotent: records are one paper by what any of the files said of them, and
    of different values of a field the longest one counts. What any of the files took apart stays apart.

    Raises:
        InputError: a review cannot be read.
        OutputError: the file cannot be written; nothing is left of it then.
    """
    records = [(number, record) for number, review in enumerate(reviews) for record in review.records()]
    clusters = _clusters([record for _, record in records if record.is_split])
    members = {
        (number, record.document.id, at): piece
        for number, record in records
        for at, piece in enumerate(_parts(record, clusters))
    }
    groups = list(_groups(members, clusters))
    ids = _ids([frozenset().union(*(members[key].names for key in group)) for group in groups])
    merged = [_merged([members[key] for key in group], name) for group, name in zip(groups, ids, strict=True)]
    id_of = defaultdict[tuple[int, str], list[tuple[Record, str]]](list)
    for group, record in zip(groups, merged, strict=True):
        for key in sorted(group, key=lambda key: key[2]):
            id_of[key[:2]].append((members[key], record.document.id))
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:12]}.tmp")
    try:
        result = Review(temporary)
        result.put_records(sorted(merged, key=lambda record: record.document.id))
        result.put_rows(
            decisions=_distinct(
                (_shown(id_of[n, row[0]], row[6]), *row[1:])
                for n, review in enumerate(reviews)
                for row in review.decision_rows()
            ),
            questions=_distinct(
                (*row[:3], json.dumps([id_of[n, name][0][1] for name in json.loads(row[3]) if (n, name) in id_of]))
                for n, review in enumerate(reviews)
                for row in review.question_rows()
            ),
        )
        keys = {key for review in reviews for key in review.setting("key").split(",")}
        result.set_setting("key", ",".join(sorted(keys)))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return Review(path)


def _distinct(rows: Iterator[Row]) -> list[Row]:
    """Return the rows once, in one order."""
    return sorted(set(rows), key=json.dumps)


def _shown(named_records: Sequence[tuple[Record, str]], fingerprint: str) -> str:
    """Return the id of the record whose words were shown with a decision, else of the first."""
    return named_records[best_fit([record for record, _ in named_records], fingerprint)][1]


def _clusters(records: Sequence[Record]) -> dict[Name, int]:
    """Return a number for each source of records that were taken apart; sources of one such record have one number."""
    clusters = dict[Name, int]()
    for number, record in enumerate(sorted(records, key=lambda record: _text(record.document))):
        names = [name_of(source.document) for source in record.sources]
        joined = {clusters[name] for name in names if name in clusters}
        clusters |= dict.fromkeys((*names, *(name for name, known in clusters.items() if known in joined)), number)
    return clusters


def _parts(record: Record, clusters: dict[Name, int]) -> list[Record]:
    """Return a record, or its parts if another review took apart what it joins."""
    by_cluster = defaultdict[int | None, list[Source]](list)
    for source in record.sources:
        by_cluster[clusters.get(name_of(source.document))].append(source)
    if record.is_split or len(by_cluster) < 2:
        return [record]
    return [of_sources(sources, set()) for sources in by_cluster.values()]


def _groups(members: dict[Key, Record], clusters: dict[Name, int]) -> Iterator[list[Key]]:
    """Yield the records that are one paper: by an id with words that fit, or as duplicates are recognised."""
    apart = defaultdict[int, list[Key]](list)
    for key, record in members.items():
        numbers = [clusters[name] for source in record.sources if (name := name_of(source.document)) in clusters]
        if numbers:
            apart[numbers[0]].append(key)
    yield from apart.values()
    used = {key for keys in apart.values() for key in keys}
    yield from _alike({key: record for key, record in members.items() if key not in used})


def _alike(members: dict[Key, Record]) -> Iterator[list[Key]]:
    order = sorted(members, key=lambda key: _text(members[key].document))
    parent = {key: key for key in order}

    def root(key: Key) -> Key:
        while parent[key] != key:
            key = parent[key]
        return key

    by_name = defaultdict[str, list[tuple[Key, str]]](list)
    for key in order:
        for name, fingerprint in sorted(members[key].names):
            by_name[name].append((key, fingerprint))
    for same in by_name.values():
        for (first, first_fingerprint), (second, second_fingerprint) in combinations(same, 2):
            if fits(first_fingerprint, second_fingerprint):
                parent[root(second)] = root(first)
    for numbers in partners_of([as_read(members[key]) for key in order]):
        for number in numbers[1:]:
            parent[root(order[number])] = root(order[numbers[0]])
    groups = defaultdict[Key, list[Key]](list)
    for key in order:
        groups[root(key)].append(key)
    yield from groups.values()


def _ids(groups: Sequence[frozenset[Name]]) -> list[str]:
    """Return an id for each group of records: a name that no other group has, or else one with a hash behind it."""
    count = Counter(name for names in groups for name in {name for name, _ in names})
    return [
        min((name for name, _ in names if count[name] == 1), key=_preference, default="") or _with_hash(names)
        for names in groups
    ]


def _preference(name: str) -> tuple[bool, str]:
    return name.startswith(PREFIX), name


def _with_hash(names: frozenset[Name]) -> str:
    shared = min((name for name, _ in names), key=_preference)
    return f"{shared}:{sha256(json.dumps(sorted(names)).encode()).hexdigest()[:8]}"


def _merged(records: Sequence[Record], identity: str) -> Record:
    document = max((record.document for record in records), key=lambda document: (len(document.text), document.text))
    fields = {name for record in records for name in record.document.metadata}
    metadata = {
        name: max(
            (record.document.metadata[name] for record in records if name in record.document.metadata), key=_order
        )
        for name in sorted(fields)
    }
    if every := [record.document.metadata.get(SOURCE_FIELDS, {}) for record in records]:
        names = sorted({name for values in every for name in values})
        longest = {name: max((values[name] for values in every if name in values), key=_order) for name in names}
        metadata |= {SOURCE_FIELDS: longest} if longest else {}
    return Record(
        document=replace(document, id=identity, metadata=metadata),
        is_local=all(record.is_local for record in records),
        names=frozenset().union(*(record.names for record in records)),
        sources=_sources(records),
        is_split=any(record.is_split for record in records),
    )


def _sources(records: Sequence[Record]) -> tuple[Source, ...]:
    """Return the sources of all records: of one id and one text the one with the longest fields, and the first time."""
    same = defaultdict[Name, list[Source]](list)
    for source in (source for record in records for source in record.sources):
        same[name_of(source.document)].append(source)
    merged = []
    for sources in same.values():
        time, outcome = min((source.time, source.outcome) for source in sources)
        longest = max((source.document for source in sources), key=lambda document: _order(_text(document)))
        merged.append(Source(document=longest, time=time, outcome=outcome))
    return tuple(sorted(merged, key=lambda source: (source.time, _text(source.document))))


def _order(value: Any) -> tuple[int, str]:
    text = json.dumps(value, sort_keys=True)
    return len(text), text


def _text(document: Document) -> str:
    values: dict[str, Any] = {"title": document.title, "abstract": document.abstract, **document.metadata}
    return json.dumps([document.id, values], sort_keys=True)
