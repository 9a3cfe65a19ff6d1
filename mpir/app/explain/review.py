"""A review: its records with every id under which they came, the questions that were asked, and every decision."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from mpir.app.explain.decision import Decision
from mpir.app.explain.review_file import ReviewFile
from mpir.core.text import Document
from mpir.files.corpora.content import fits

Row = tuple[Any, ...]
Name = tuple[str, str]
"""An id of a record in some file, and the fingerprint that the record had there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A record of a file as it was read, when (ms), and its outcome: new, joined, changed (other words), or copy."""

    document: Document
    time: int
    outcome: str

    def values(self) -> dict[str, Any]:
        """Return all fields as JSON-able values."""
        return {"id": self.document.id, **_values(self.document), "time": self.time, "outcome": self.outcome}

    @classmethod
    def of(cls, values: Mapping[str, Any], document: Document) -> Source:
        """Return the source of such values; one without a text is that of the record's `document`."""
        texts = {name: values[name] for name in ("title", "abstract", "metadata") if name in values}
        own = Document(values["id"], **texts) if texts else document
        return cls(document=own, time=values["time"], outcome=values["outcome"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record of a review. `is_local` is whether its id is valid within a list only.

    `sources` are the files' records that it joins, and `is_split` is whether it was taken apart from another.
    """

    document: Document
    is_local: bool
    names: frozenset[Name]
    sources: tuple[Source, ...] = ()
    is_split: bool = False

    def values(self) -> dict[str, Any]:
        """Return the document and its sources as JSON-able values."""
        values, sources = _values(self.document), [source.values() for source in self.sources]
        if len(sources) == 1 and {**sources[0], **values, "id": self.document.id} == sources[0]:
            sources = [{name: sources[0][name] for name in ("time", "outcome")}]  # its text is the record's
        return {**values, "sources": sources, **({"is_split": True} if self.is_split else {})}

    @classmethod
    def of(cls, identifier: str, is_local: bool, values: dict[str, Any], names: Iterable[Name]) -> Record:
        """Return the record of such values."""
        sources, is_split = values.pop("sources", ()), values.pop("is_split", False)
        document = Document(identifier, **values)
        return cls(
            document=document,
            is_local=is_local,
            names=frozenset(names),
            sources=tuple(Source.of(source, document) for source in sources),
            is_split=is_split,
        )


def _values(document: Document) -> dict[str, Any]:
    return {"title": document.title, "abstract": document.abstract, "metadata": dict(document.metadata)}


class Review:
    """The content of a review file. Decisions and questions are only ever added.

    Methods raise InputError where the file cannot be read, and OutputError where it cannot be written; nothing of what
    they were to write is in it then.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. Raises InputError and OutputError as `ReviewFile`."""
        self.path, self._file = path, ReviewFile(path)

    def setting(self, name: str) -> str:
        """Return a setting; an empty string without it. "key" names the review in browsers."""
        with self._file.reading() as database:
            row = database.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def set_setting(self, name: str, value: str) -> None:
        """Store a setting."""
        with self._file.writing() as database:
            database.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def records(self) -> list[Record]:
        """Return the records in the order in which they came."""
        with self._file.reading() as database:
            rows = database.execute("SELECT id, is_local, document FROM records ORDER BY rowid").fetchall()
            pairs = database.execute("SELECT record, id, fingerprint FROM ids").fetchall()
        names: dict[str, set[Name]] = {}
        for record, identifier, fingerprint in pairs:
            names.setdefault(record, set()).add((identifier, fingerprint))
        return [
            Record.of(identifier, bool(is_local), json.loads(text), names.get(identifier, ()))
            for identifier, is_local, text in rows
        ]

    def put_records(self, records: Iterable[Record]) -> None:
        """Add records, or replace those of the same ids."""
        with self._file.writing() as database:
            for record in records:
                self._put(database, record)

    def _put(self, database: Connection, record: Record) -> None:
        identity, now = record.document.id, milliseconds()
        database.execute(
            "INSERT INTO records VALUES (?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET document = excluded.document, is_local = excluded.is_local",
            (identity, record.is_local, json.dumps(record.values(), default=str), now),
        )
        database.executemany(
            "INSERT OR IGNORE INTO ids VALUES (?, ?, ?, ?)", [(identity, *name, now) for name in sorted(record.names)]
        )

    def split(self, record: Record, replacements: Sequence[Record]) -> None:
        """Put records in the place of one; each decision goes to the record whose words were shown."""
        with self._file.writing() as database:
            rows = database.execute(
                "SELECT rowid, fingerprint FROM decisions WHERE record = ?", (record.document.id,)
            ).fetchall()
            database.execute("DELETE FROM ids WHERE record = ?", (record.document.id,))
            for replacement in replacements:
                self._put(database, replacement)
            for row, fingerprint in rows:
                identity = replacements[best_fit(replacements, fingerprint)].document.id
                database.execute("UPDATE decisions SET record = ? WHERE rowid = ?", (identity, row))

    def decisions(self, reviewer: str) -> list[Decision]:
        """Return a reviewer's latest decision on each record, in the order of the first ones.

        The latest is that of the latest time, whenever it arrived. A decision whose fingerprint is not of its record is
        left out.
        """
        with self._file.reading() as database:
            rows = database.execute(
                "SELECT record, grade, note, time, query, fingerprint FROM decisions WHERE reviewer = ?"
                " ORDER BY time, ifnull(grade, -1), note",
                (reviewer,),
            ).fetchall()
            pairs = database.execute("SELECT record, fingerprint FROM ids").fetchall()
        fingerprints: dict[str, set[str]] = {}
        for record, fingerprint in pairs:
            fingerprints.setdefault(record, set()).add(fingerprint)
        latest = {
            record: {"id": record, "grade": grade, "note": note, "time": moment, "query": query}
            for record, grade, note, moment, query, fingerprint in rows
            if any(fits(fingerprint, known) for known in fingerprints.get(record, ()))
        }
        return list(latest.values())

    def add(self, decisions: Iterable[Decision], reviewer: str) -> None:
        """Store decisions, each with its record's fingerprint; what is stored already is not stored twice."""
        rows = [
            (item["id"], reviewer, *(item[name] for name in ("grade", "note", "time", "query", "fingerprint")))
            for item in decisions
        ]
        with self._file.writing() as database:
            database.executemany("INSERT OR IGNORE INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def decision_rows(self) -> list[Row]:
        """Return all decisions of all reviewers as they are stored: record, reviewer, grade, note, time, query, …."""
        with self._file.reading() as database:
            return database.execute("SELECT * FROM decisions").fetchall()

    def question_rows(self) -> list[Row]:
        """Return all questions as they are stored: query, time, ranked by, and the ids as JSON."""
        with self._file.reading() as database:
            return database.execute("SELECT * FROM questions").fetchall()

    def put_rows(self, *, decisions: Iterable[Row], questions: Iterable[Row]) -> None:
        """Store rows of other reviews."""
        with self._file.writing() as database:
            database.executemany("INSERT OR IGNORE INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?)", decisions)
            database.executemany("INSERT INTO questions VALUES (?, ?, ?, ?)", questions)

    def reviewers(self) -> list[str]:
        """Return the names of the people who decided."""
        with self._file.reading() as database:
            rows = database.execute("SELECT DISTINCT reviewer FROM decisions ORDER BY reviewer").fetchall()
        return [reviewer for (reviewer,) in rows]

    def questions(self) -> list[str]:
        """Return the questions that were asked, the last one first."""
        with self._file.reading() as database:
            rows = database.execute(
                "SELECT query FROM questions GROUP BY query ORDER BY max(time) DESC, max(rowid) DESC"
            ).fetchall()
        return [query for (query,) in rows]

    def add_question(self, query: str, ranked_by: str, ranking: Sequence[str]) -> None:
        """Store a question, the name of the bundle that ranked for it, and the ids in the order that was shown."""
        with self._file.writing() as database:
            row = (query, milliseconds(), ranked_by, json.dumps(list(ranking)))
            database.execute("INSERT INTO questions VALUES (?, ?, ?, ?)", row)


def best_fit(records: Sequence[Record], fingerprint: str) -> int:
    """Return the number of the record with the words of a fingerprint, else with similar ones, else of the first."""
    known = [{value for _, value in record.names} for record in records]
    same = (number for number, values in enumerate(known) if fingerprint in values)
    similar = (n for n, values in enumerate(known) if any(fits(fingerprint, value) for value in values))
    return next(chain(same, similar), 0)


def milliseconds() -> int:
    """Return the time now."""
    return round(time.time() * 1000)
