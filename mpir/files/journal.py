"""The journal of a long job: one JSON line per finished piece (question, trial), from which a run resumes."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from mpir.core.checksum import add_checksum, fingerprint, verify_checksum
from mpir.errors import ArtefactError, OutputError
from mpir.files.lock import acquire
from mpir.files.read import open_bytes
from mpir.files.write import atomic_write
from mpir.version import __version__

log = logging.getLogger(__name__)
RECOMPUTE = "run the same command again to recompute this record"


class Records(Mapping[str, dict[str, Any]]):
    """The records of a journal by id. Only their offsets are in memory; a record is read on access."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.places: dict[str, int] = {}

    def __getitem__(self, identifier: str) -> dict[str, Any]:
        offset = self.places[identifier]
        with open_bytes(self._path) as stream:
            stream.seek(offset)
            record = _parsed(stream.readline())
        return verify_checksum(record, f"{self._path}: record {identifier}", RECOMPUTE)

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


class Journal:
    """The records of finished pieces by id, for one set of settings.

    The first line holds the settings. A journal with other settings is set aside under another name, and restored when
    its settings are used again; with `replace` it is deleted. A file that is not a journal is refused. A last line that
    was cut off by an interrupt is dropped, and a damaged line before it loses only its own record, because each line
    has a checksum. A journal is locked until `close`, the end of a `with` block, or the end of the process.
    """

    def __init__(self, path: str | Path, settings: Mapping[str, Any], *, replace: bool = False) -> None:
        """Open, restore or start the journal of `settings` (JSON-able).

        Raises:
            OutputError: it cannot be written, is a file of another kind, or is open in another process or `Journal`.
        """
        self.path = Path(path)
        self.records = Records(self.path)
        header = {"mpir": __version__, "settings": fingerprint(dict(settings))}
        with self._writing():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._held = weakref.finalize(self, _let_go, _hold(self.path), os.getpid())
            self._choose(_line(header), replace=replace)
        if end := self._read() if self.path.exists() else 0:
            with self._writing():
                os.truncate(self.path, end)  # so that no new line follows a broken one
        else:
            with atomic_write(self.path, binary=True) as stream:
                stream.write(_line(header))

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock; the file stays."""
        self._held()

    def _choose(self, header: bytes, *, replace: bool) -> None:
        """Set aside a journal with other settings (it may have taken hours), and restore the one with these."""
        first = _first_line(self.path)
        if first and _parsed(first).keys() != {"mpir", "settings"}:
            self.close()
            raise OutputError(f"{self.path}: exists and is not a journal of mpir, so it is kept; choose another name.")
        if first and first != header and replace:
            log.warning("%s: made with other settings, so it starts over", self.path)
            self.path.unlink()
        elif first and first != header:
            names = (_set_aside_name(self.path, first, number) for number in count(1))
            old = next(name for name in names if not name.exists())
            log.warning("%s: made with other settings, so it starts over; the old one is now %s", self.path, old.name)
            self.path.replace(old)
        mine = _set_aside_name(self.path, header)
        if not self.path.exists() and _first_line(mine) == header:
            log.warning("%s: restored from %s, which was made with these settings", self.path, mine.name)
            mine.replace(self.path)

    def _read(self) -> int:
        """Index the records of all complete lines after the first; return the offset where the last one ends."""
        end = 0
        with open_bytes(self.path) as stream:
            for number, line in enumerate(stream, 1):
                if not line.endswith(b"\n"):
                    log.warning("%s: its last line is incomplete and is recomputed", self.path)
                    break
                self._note(line, number, end)
                end += len(line)
        return end

    def _note(self, line: bytes, number: int, start: int) -> None:
        """Store the offset of a line that is a record; a damaged line is logged, and its record recomputed."""
        try:
            record = verify_checksum(_parsed(line), f"{self.path}:{number}", "this record is recomputed")
        except ArtefactError as error:
            log.warning("%s", error)
            return
        if isinstance(identifier := record.get("id"), str):
            self.records.places[identifier] = start
        elif number > 1:
            log.warning("%s:%d: this line is damaged, and its record is recomputed", self.path, number)

    def add(self, identifier: str, record: Mapping[str, Any]) -> None:
        """Append a finished piece and flush it to disk. Raises OutputError where it cannot be written."""
        with self._writing(), open(self.path, "ab") as stream:
            offset = stream.tell()
            stream.write(_line(add_checksum({"id": identifier, **record})))
            stream.flush()
            os.fsync(stream.fileno())
        self.records.places[identifier] = offset

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written ({error.strerror}); check free space.") from error


def _hold(path: Path) -> FileLock:
    """Take the lock of a journal. Raises OutputError where another process holds it."""
    try:
        return acquire(path.with_name(f".{path.name}.lock"))
    except Timeout as error:
        raise OutputError(
            f"{path}: another process is writing it; wait until it has finished, or choose another output."
        ) from error


def _let_go(lock: FileLock, process: int) -> None:
    if os.getpid() == process:  # a forked child inherits the lock object but does not own the lock
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _first_line(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with open_bytes(path) as stream:
        return stream.readline()


def _set_aside_name(path: Path, header: bytes, number: int = 1) -> Path:
    """Return the name under which a journal with this first line is set aside, unique to its settings."""
    suffix = f".{number}" if number > 1 else ""
    return path.with_name(f"{path.name}.{hashlib.sha256(header).hexdigest()[:8]}{suffix}.old")


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _parsed(line: bytes) -> dict[str, Any]:
    """Return the object of a complete line; an empty one for anything else."""
    try:
        value = json.loads(line) if line.endswith(b"\n") else {}
    except ValueError:
        value = {}
    return value if isinstance(value, dict) else {}
