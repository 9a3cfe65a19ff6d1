"""A cache of scores and vectors between runs: a folder of bounded size that processes share, with checksums."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
from filelock import FileLock

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.text.types import Pair, QueryDocument
from mpir.errors import OutputError
from mpir.files.paths import checked_path
from mpir.models.perspectives.cache_records import (
    FORMAT,
    DamagedError,
    document_keys,
    pack_score,
    pack_vectors,
    score_keys,
    unpack_score,
    unpack_vectors,
    vector_keys,
)
from mpir.types import F32, F64, Bool
from mpir.validation import whole_number
from mpir.version import __version__

log = logging.getLogger(__name__)

Result = TypeVar("Result")

FILE, LOCK = "scores.sqlite", "scores.lock"
OWN_TABLES = {"made_by", "scores"}
LIMIT = 2**30
SMALLEST = 2**16
ROOM = 0.9
"""Share of the limit that remains in use after deleting old scores, so that not every call deletes some."""
KEYS_PER_QUERY = 500
WAIT = 60.0
"""Seconds to wait for another writing process."""
LARGEST = 1 / 8
"""Maximum share of the limit for the vectors of one text, so that a book does not displace everything else."""
TABLES = (
    "CREATE TABLE made_by (format INTEGER, mpir TEXT)",
    "CREATE TABLE scores (number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, record BLOB NOT NULL)",
)
_inherited: list[sqlite3.Connection | None] = []
"""Connections of a parent process: SQLite forbids a child to use or even close them."""


class ScoreCache:
    """Outputs by model, query and document, scores by perspective, query and text, and vectors by model and text.

    They are in an SQLite database. Any number of processes and threads may use one folder at once, and a kill loses at
    most the current transaction. Texts are not stored, only digests. A database of another mpir version, or a damaged
    one, is logged and recreated. If the database can no longer be written (a full disk), this is logged once, and the
    cache is no longer used.
    """

    def __init__(self, folder: str | Path, *, limit: int = LIMIT) -> None:
        """Open the cache in a folder, which is created if it does not exist.

        `limit` is the maximum size of the database in bytes (a score takes about 80, a vector of 384 numbers about
        1,600); the oldest entries are deleted first.

        Raises:
            InputError: a limit that is too small for any entry.
            OutputError: the folder cannot be created or written.
        """
        self.folder, self.limit = (
            checked_path(folder),
            whole_number("the score cache's limit in bytes", limit, minimum=SMALLEST),
        )
        self.hits = self.misses = 0
        self._lock = threading.Lock()
        self._stopped = False
        self._process = 0
        self._database: sqlite3.Connection | None = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._connection()
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or error
            raise OutputError(
                f"{folder}: cannot be used as a score cache ({reason}); give a writable folder, or use no cache."
            ) from error

    def look_up(self, fingerprint: str, pairs: Sequence[Pair]) -> tuple[F64, Bool, Bool]:
        """Return scores (N,) of a perspective for pairs, flags `in_passages` (N,), and a mask (N,) of cached ones."""
        keys = list(score_keys(fingerprint, pairs))
        records = self._do(lambda database: _read(database, keys, unpack_score)) or {}
        is_cached = np.array([key in records for key in keys], bool)
        values, in_passages = np.zeros(len(keys)), np.zeros(len(keys), bool)
        for row in np.flatnonzero(is_cached):
            values[row], in_passages[row] = records[keys[row]]
        self.hits += int(is_cached.sum())
        self.misses += int((~is_cached).sum())
        return values, in_passages, is_cached

    def keep(
        self,
        fingerprint: str,
        pairs: Sequence[Pair],
        values: F64,
        in_passages: Bool,
    ) -> None:
        """Store a perspective's scores (N,) of pairs, and flags `in_passages` (N,), in one transaction."""
        scores = zip(values.tolist(), in_passages.tolist(), strict=True)
        keys = score_keys(fingerprint, pairs)
        rows = [(key, pack_score(key, *score)) for key, score in zip(keys, scores, strict=True)]
        self._do(lambda database: self._write(database, rows))

    def look_up_documents(self, fingerprint: str, documents: Sequence[QueryDocument]) -> list[F32 | None]:
        """Return a model's outputs (1 + S, W) of each document and its S sentences; None where there are none."""
        keys = document_keys(fingerprint, documents)
        records = self._do(lambda database: _read(database, keys, unpack_vectors)) or {}
        self.hits += sum(key in records for key in keys)
        self.misses += sum(key not in records for key in keys)
        return [records.get(key) for key in keys]

    def keep_documents(self, fingerprint: str, documents: Sequence[QueryDocument], outputs: Sequence[F32]) -> None:
        """Store a model's outputs (1 + S, W) of documents in one transaction, except those too large for the limit."""
        self._keep_arrays(document_keys(fingerprint, documents), outputs)

    def look_up_vectors(self, fingerprint: str, texts: Sequence[str]) -> dict[str, F32]:
        """Return a model's cached vectors (R, W) of texts' passages, by text."""
        keys = vector_keys(fingerprint, texts)
        records = self._do(lambda database: _read(database, keys, unpack_vectors)) or {}
        return {text: records[key] for text, key in zip(texts, keys, strict=True) if key in records}

    def keep_vectors(self, fingerprint: str, vectors: Mapping[str, F32]) -> None:
        """Store a model's vectors (R, W) of texts in one transaction, except those too large for the limit."""
        self._keep_arrays(vector_keys(fingerprint, list(vectors)), list(vectors.values()))

    def _keep_arrays(self, keys: Sequence[bytes], arrays: Sequence[F32]) -> None:
        rows = [(key, pack_vectors(key, array)) for key, array in zip(keys, arrays, strict=True)]
        rows = [row for row in rows if len(row[1]) <= LARGEST * self.limit]
        self._do(lambda database: self._write(database, rows))

    def close(self) -> None:
        """Close the database, which the next use reopens."""
        with self._lock:
            self._leave()

    def _do(self, job: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """Return the job's result; None from the time when the database can no longer be used."""
        with self._lock:
            if self._stopped:
                return None
            try:
                try:
                    return job(self._connection())
                except (sqlite3.Error, DamagedError) as error:
                    _raise_unless_damaged(error)
                    self._leave()  # another process may have recreated the database meanwhile
                    return self._sound(lambda: job(self._connection()))
            except (OSError, sqlite3.Error) as error:
                self._stopped = True
                log.warning("%s: the score cache cannot be used (%s); continuing without it", self.folder, error)
                return None

    def _sound(self, job: Callable[[], Result]) -> Result:
        """Return the job's result while no other process creates the database; a damaged database is recreated."""
        with self._file_lock:
            try:
                return job()
            except (sqlite3.Error, DamagedError) as error:
                _raise_unless_damaged(error)
                log.warning("%s: the score cache is damaged (%s) and is recreated", self.folder, error)
                self._leave()
                for suffix in ("", "-wal", "-shm"):
                    (self.folder / f"{FILE}{suffix}").unlink(missing_ok=True)
                return job()

    def _connection(self) -> sqlite3.Connection:
        if self._process != os.getpid():
            _inherited.append(self._database)
            self._process, self._database = os.getpid(), None
            self._file_lock = FileLock(self.folder / LOCK, timeout=WAIT)
        if self._database is None:
            self._database = self._sound(self._open)
        return self._database

    def _leave(self) -> None:
        if self._database is not None and self._process == os.getpid():
            self._database.close()
            self._database = None

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.folder / FILE, timeout=WAIT, isolation_level=None, check_same_thread=False)
        try:
            database.execute("PRAGMA auto_vacuum = FULL")  # so that the file shrinks; must come before the first table
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            self._check_version(database)
        except BaseException:  # close the database on any failure, including an interrupt
            database.close()
            raise
        return database

    def _check_version(self, database: sqlite3.Connection) -> None:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        made_by = database.execute("SELECT format, mpir FROM made_by").fetchall() if "made_by" in tables else []
        if made_by == [(FORMAT, __version__)]:
            return
        if tables and not (tables <= OWN_TABLES and "made_by" in tables):
            raise OutputError(
                f"{self.folder / FILE}: the database belongs to another program and is left unchanged; give another "
                "folder."
            )
        if tables:
            version = made_by[0][1] if made_by else "unknown"
            log.warning("%s: the score cache was made by mpir %s and is recreated", self.folder, version)
        with _transaction(database):
            for name in tables:
                database.execute(f'DROP TABLE "{name}"')
            for statement in TABLES:
                database.execute(statement)
            database.execute("INSERT INTO made_by VALUES (?, ?)", (FORMAT, __version__))

    def _write(self, database: sqlite3.Connection, rows: Sequence[tuple[bytes, bytes]]) -> None:
        with _transaction(database):
            database.executemany("INSERT OR REPLACE INTO scores (key, record) VALUES (?, ?)", rows)
            if _size(database) > self.limit:
                _make_room(database, int(ROOM * self.limit))


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Context manager of an exclusive transaction."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:  # roll back on any failure, including an interrupt
        if database.in_transaction:  # SQLite ends some failed transactions itself
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _size(database: sqlite3.Connection) -> int:
    """Return the bytes in use."""
    pages, free, size = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _make_room(database: sqlite3.Connection, size: int) -> None:
    """Delete the oldest entries until at most `size` bytes are in use."""
    while _size(database) > size:
        first, last = database.execute("SELECT min(number), max(number) FROM scores").fetchone()
        if first is None:
            break
        database.execute("DELETE FROM scores WHERE number <= ?", (first + (last - first) // 8,))


def _read(
    database: sqlite3.Connection, keys: Sequence[bytes], unpack: Callable[[bytes, object], Result]
) -> dict[bytes, Result]:
    records = {}
    for start in range(0, len(keys), KEYS_PER_QUERY):
        raise_if_cancelled()
        batch = keys[start : start + KEYS_PER_QUERY]
        placeholders = ",".join("?" * len(batch))
        for key, record in database.execute(f"SELECT key, record FROM scores WHERE key IN ({placeholders})", batch):
            records[key] = unpack(key, record)
    return records


def _raise_unless_damaged(error: Exception) -> None:
    """Raise the error again unless it reports damaged content, in contrast to a busy, full or read-only database."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code not in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        raise error
