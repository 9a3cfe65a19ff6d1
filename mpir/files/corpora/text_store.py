"""Store the texts of a corpus or of questions on disk by id, so that only requested texts are in memory."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from mpir.core.checksum import fingerprint
from mpir.errors import InputError, MpirError, format_paths, format_value
from mpir.files.checksum import sha256
from mpir.files.corpora.corpus import corpus_fingerprint, read_corpus
from mpir.files.corpora.queries import read_queries
from mpir.files.files import check_file_list, write_file_list
from mpir.files.folder_format import FILE_LIST, FolderFormat
from mpir.files.paths import resolved
from mpir.files.read import STDIN
from mpir.files.write import atomic_folder, cache_folder
from mpir.version import __version__

_log = logging.getLogger(__name__)
DATABASE = "texts.sqlite"
_FOLDER = FolderFormat(names=(DATABASE, f"{DATABASE}-journal", FILE_LIST))
AT_ONCE = 500
"""Ids per database query."""


class Texts:
    """The texts of a corpus or of questions by id, stored once in mpir's cache folder.

    Attributes:
        source: the files of the texts, for messages.
        identity: fingerprint of these files.
    """

    def __init__(self, source: str, identity: str, texts: Iterable[tuple[str, str]]) -> None:
        """Open the stored texts (id, text) of an identity, or store them first.

        Raises:
            InputError: a repeated id, or an error of reading `texts`.
            OutputError: the cache cannot be written.
        """
        self.source, self.identity = source, identity
        folder = cache_folder() / "texts" / __version__ / identity  # another version may read the files differently
        if not _is_whole(folder):
            with atomic_folder(folder, _FOLDER) as temporary:
                _write(temporary / DATABASE, texts, source)
                write_file_list(temporary)
        uri = resolved(folder / DATABASE).as_uri()
        self._database = sqlite3.connect(f"{uri}?mode=ro", uri=True)

    @classmethod
    def of_corpus(cls, paths: Sequence[str | Path]) -> Texts:
        """Store title and abstract of each document.

        Raises:
            InputError: as `read_corpus`, a repeated id, or standard input, which cannot be identified.
        """
        if STDIN in map(str, paths):
            raise InputError("texts cannot be looked up in standard input; write it to a file, and give that file.")
        texts = ((document.id, document.text) for document in read_corpus(paths))
        return cls(format_paths(paths), fingerprint(corpus_fingerprint(paths)), texts)

    @classmethod
    def of_queries(cls, path: str | Path) -> Texts:
        """Store the questions of a file. Raises InputError as `read_queries`, or for a repeated id."""
        queries = read_queries(path)  # raises for a missing file
        return cls(str(path), fingerprint([Path(path).name, sha256(path)]), queries)

    def find(self, ids: Collection[str]) -> dict[str, str]:
        """Return the texts of these ids; missing ids are omitted."""
        identifiers, texts = list(ids), dict[str, str]()
        for start in range(0, len(identifiers), AT_ONCE):
            batch = identifiers[start : start + AT_ONCE]
            statement = f"SELECT id, text FROM texts WHERE id IN ({','.join('?' * len(batch))})"
            texts |= dict(self._database.execute(statement, batch))
        return texts

    def names(self, positions: Collection[int]) -> list[str]:
        """Return the ids at ascending positions, 0 to `len` − 1 in the order of the source."""
        row_numbers, names = sorted(position + 1 for position in positions), list[str]()
        for start in range(0, len(row_numbers), AT_ONCE):
            batch = row_numbers[start : start + AT_ONCE]
            statement = f"SELECT id FROM texts WHERE rowid IN ({','.join('?' * len(batch))}) ORDER BY rowid"
            names += [name for (name,) in self._database.execute(statement, batch)]
        return names

    def __len__(self) -> int:
        return int(self._database.execute("SELECT count(*) FROM texts").fetchone()[0])


def _is_whole(folder: Path) -> bool:
    """Whether a folder has complete, undamaged texts; damage is logged, and the texts are stored again."""
    if not (folder / FILE_LIST).is_file():
        return False
    try:
        check_file_list(folder, "the texts are read again")
    except MpirError as error:
        _log.warning("%s", error)
        return False
    return True


def _write(path: Path, texts: Iterable[tuple[str, str]], source: str) -> None:
    database = sqlite3.connect(path)
    try:
        database.execute("PRAGMA synchronous = OFF")  # the folder is renamed only when complete
        database.execute("CREATE TABLE texts (id TEXT PRIMARY KEY, text TEXT NOT NULL)")
        for identifier, text in texts:
            try:
                database.execute("INSERT INTO texts VALUES (?, ?)", (identifier, text))
            except sqlite3.IntegrityError as error:
                raise InputError(f"{source}: duplicate id {format_value(identifier)}; keep one of them.") from error
        database.commit()
    finally:
        database.close()
