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

from mpir.app.explain.join import as_read, partners_of
from mpir.app.explain.review import Name, Record, Review, Row
from mpir.core.text import Document
from mpir.files.corpora.content import PREFIX, fits

Key = tuple[int, str]
"""The number of a review, and the id of a record in it."""


def merge_reviews(reviews: Sequence[Review], path: Path) -> Review:
    """Write the records, questions and decisions of all reviews to a new file; a person's latest decision counts.

    Merging is associative, commutative and idempotent: records are one paper by what any of the files said of them, and
    of different values of a field the longest one counts.

    Raises:
        InputError: a review cannot be read.
        OutputError: the file cannot be written; nothing is left of it then.
    """
    members = {
        (number, record.document.id): record for number, review in enumerate(reviews) for record in review.records()
    }
    groups = list(_groups(members))
    ids = _ids([frozenset().union(*(members[key].names for key in group)) for group in groups])
    merged = [_merged([members[key] for key in group], name) for group, name in zip(groups, ids, strict=True)]
    id_of = {key: record.document.id for group, record in zip(groups, merged, strict=True) for key in group}
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:12]}.tmp")
    try:
        result = Review(temporary)
        result.put_records(sorted(merged, key=lambda record: record.document.id))
        result.put_rows(
            decisions=_distinct(
                (id_of[n, row[0]], *row[1:]) for n, review in enumerate(reviews) for row in review.decision_rows()
            ),
            questions=_distinct(
                (*row[:3], json.dumps([id_of[n, name] for name in json.loads(row[3]) if (n, name) in id_of]))
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


def _groups(members: dict[Key, Record]) -> Iterator[list[Key]]:
    """Yield the records that are one paper: by an id with words that fit, or as duplicates are recognised."""
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
            (record.document.metadata[name] for record in records if name in record.document.metadata),
            key=lambda value: (len(json.dumps(value)), json.dumps(value)),
        )
        for name in sorted(fields)
    }
    return Record(
        document=replace(document, id=identity, metadata=metadata),
        is_local=all(record.is_local for record in records),
        names=frozenset().union(*(record.names for record in records)),
    )


def _text(document: Document) -> str:
    values: dict[str, Any] = {"title": document.title, "abstract": document.abstract, **document.metadata}
    return json.dumps([document.id, values], sort_keys=True)
