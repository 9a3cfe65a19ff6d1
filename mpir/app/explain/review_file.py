"""The file of a review: a SQLite database of one format, checked before it is believed.

SQLite is in the standard library, keeps what was committed through a kill, and lets processes share a file. Only while
it is written is there a second file beside it, so that a copy of it is a back-up.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

from mpir.errors import InputError, OutputError

APPLICATION = 0x6D706972
"""The number that names mpir in the header of the file ("mpir" in ASCII)."""
VERSION = 1
SECONDS = 10.0
"""How long to wait for another process that writes to the same file."""
_SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE records (id TEXT PRIMARY KEY, is_local INTEGER NOT NULL, document TEXT NOT NULL, added INTEGER NOT NULL);
CREATE TABLE ids (record TEXT NOT NULL, id TEXT NOT NULL, fingerprint TEXT NOT NULL, added INTEGER NOT NULL,
    PRIMARY KEY (record, id, fingerprint));
CREATE TABLE decisions (record TEXT NOT NULL, reviewer TEXT NOT NULL, grade INTEGER, note TEXT NOT NULL,
    time INTEGER NOT NULL, query TEXT NOT NULL, fingerprint TEXT NOT NULL);
CREATE UNIQUE INDEX distinct_decisions ON decisions (record, reviewer, time, ifnull(grade, -1), note);
CREATE TABLE questions (query TEXT NOT NULL, time INTEGER NOT NULL, ranked_by TEXT NOT NULL, ranking TEXT NOT NULL)
"""
_NAMES = {"settings", "records", "ids", "decisions", "distinct_decisions", "questions"}


class ReviewFile:
    """A database to read and write in transactions."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it.

        Raises:
            InputError: it is something else, damaged, or of a later version of mpir.
            OutputError: it cannot be made.
        """
        self.path = path
        if path.exists():
            self._check()
        else:
            self._make()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open the file for reading. Raises InputError where that fails."""
        try:
            with closing(self._connect("rw")) as database:
                yield database
        except sqlite3.Error as error:
            raise InputError(f"{self.path}: cannot be read ({error}); restore it from a copy.") from error

    @contextmanager
    def writing(self, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        """Begin a transaction, and commit it at the end of the block. Raises OutputError where that fails."""
        try:
            with closing(self._connect(mode)) as database, database:
                database.execute("BEGIN IMMEDIATE")
                yield database
        except sqlite3.Error as error:
            raise OutputError(
                f"{self.path}: cannot be written ({error}); free some space or change the rights."
            ) from error

    def _connect(self, mode: str) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        database = sqlite3.connect(uri, uri=True, timeout=SECONDS)
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = FULL"):
            database.execute(f"PRAGMA {pragma}")
        return database

    def _make(self) -> None:
        with self.writing("rwc") as database:
            if database.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                for statement in _SCHEMA.split(";"):
                    database.execute(statement)
                database.execute("INSERT INTO settings VALUES ('key', ?)", (uuid4().hex,))
                database.execute(f"PRAGMA application_id = {APPLICATION}")
                database.execute(f"PRAGMA user_version = {VERSION}")

    def _check(self) -> None:
        """Refuse what mpir did not make: the database of a stranger may hold triggers that change what is read."""
        with self.reading() as database:
            (application,) = database.execute("PRAGMA application_id").fetchone()
            (version,) = database.execute("PRAGMA user_version").fetchone()
            names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
            if application == APPLICATION and version > VERSION:
                raise InputError(
                    f"{self.path}: is of a later version of mpir (format {version}, expected {VERSION}); install that."
                )
            if application != APPLICATION or {name for name in names if not name.startswith("sqlite_")} != _NAMES:
                raise InputError(f"{self.path}: is not a review of mpir; move it away, or choose another file.")
            if database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise InputError(f"{self.path}: is damaged; restore it from a copy.")
