"""Finished pieces of a long job (questions, trials), one JSON line each: what an interrupted run resumes from."""

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

from mpir.errors import ArtefactError, OutputError
from mpir.io.checksum import add_checksum, verify_checksum
from mpir.io.hash import fingerprint
from mpir.io.lock import acquire
from mpir.io.read import open_bytes
from mpir.io.write import atomic_write
from mpir.version import __version__

log = logging.getLogger(__name__)
RECOMPUTE = "run the same command again, which computes this record anew"


class Records(Mapping[str, dict[str, Any]]):
    """The records of a journal by their id. Only their places are in memory; a record is read when asked for."""

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
    """The records of finished pieces by their id, for one way of making them.

    The first line says how they were made. A journal made in another way is set aside, under a name of its own, and
    taken back when it is asked for again; with `replace` it is dropped. A file that is no journal is refused. A last
    line that was cut off by an interrupt is dropped, and a damaged line before it costs its own record only: each has a
    checksum. One journal is open at a time: until `close`, the end of a `with` block, or the end of the process, nobody
    else gets it.
    """

    def __init__(self, path: str | Path, settings: Mapping[str, Any], *, replace: bool = False) -> None:
        """Open, take back or start the journal of `settings` (JSON-able).

        Raises:
            OutputError: it cannot be written, is a file of another kind, or another process (or another `Journal`) has
                it open.
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
                os.truncate(self.path, end)  # so that new lines never follow a broken one
        else:
            with atomic_write(self.path, binary=True) as stream:
                stream.write(_line(header))

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others have the journal; its file stays."""
        self._held()

    def _choose(self, header: bytes, *, replace: bool) -> None:
        """Set aside what was made in another way (it may have taken hours), and take back what was made in this one."""
        first = _first_line(self.path)
        if first and not _is_header(first):
            self.close()
            raise OutputError(f"{self.path}: exists and is no log of mpir's, so it is left alone; choose another name.")
        if first and first != header and replace:
            log.warning("%s: made with other settings, so it is done anew", self.path)
            self.path.unlink()
        elif first and first != header:
            old = _free_name(self.path, first)
            log.warning("%s: made with other settings, so it is done anew; the old one is now %s", self.path, old.name)
            self.path.replace(old)
        mine = _set_aside_name(self.path, header)
        if not self.path.exists() and _first_line(mine) == header:
            log.warning("%s: taken back from %s, which was made with these settings", self.path, mine.name)
            mine.replace(self.path)

    def _read(self) -> int:
        """Find the records of the whole lines after the first; the end of the last of them."""
        end = 0
        with open_bytes(self.path) as stream:
            for number, line in enumerate(stream, 1):
                if not line.endswith(b"\n"):
                    log.warning("%s: its last line is incomplete and is done anew", self.path)
                    break
                self._note(line, number, end)
                end += len(line)
        return end

    def _note(self, line: bytes, number: int, start: int) -> None:
        """Keep where a line begins, if it is a record; a damaged one is logged, and its record computed anew."""
        try:
            record = verify_checksum(_parsed(line), f"{self.path}:{number}", "this record is computed anew")
        except ArtefactError as error:
            log.warning("%s", error)
            return
        if isinstance(identifier := record.get("id"), str):
            self.records.places[identifier] = start
        elif number > 1:
            log.warning("%s:%d: this line is damaged, and what it held is done anew", self.path, number)

    def add(self, identifier: str, record: Mapping[str, Any]) -> None:
        """Append a finished piece and hand it to the disk. Raises OutputError where it cannot be written."""
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
    """The lock of a journal. Raises OutputError where somebody else holds it."""
    try:
        return acquire(path.with_name(f".{path.name}.lock"))
    except Timeout as error:
        raise OutputError(
            f"{path}: another process is writing it; wait until that has ended, or choose another output."
        ) from error


def _let_go(lock: FileLock, process: int) -> None:
    if os.getpid() == process:  # a child that was forked has the same lock, but it is not the child's
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _first_line(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with open_bytes(path) as stream:
        return stream.readline()


def _is_header(line: bytes) -> bool:
    """Whether the first line of a file is that of a journal."""
    return _parsed(line).keys() == {"mpir", "settings"}


def _set_aside_name(path: Path, header: bytes, number: int = 1) -> Path:
    """Where a journal with this first line is set aside: one place for each way of making it."""
    suffix = f".{number}" if number > 1 else ""
    return path.with_name(f"{path.name}.{hashlib.sha256(header).hexdigest()[:8]}{suffix}.old")


def _free_name(path: Path, header: bytes) -> Path:
    return next(name for number in count(1) if not (name := _set_aside_name(path, header, number)).exists())


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _parsed(line: bytes) -> dict[str, Any]:
    """The object of a whole line; an empty one for anything else."""
    try:
        value = json.loads(line) if line.endswith(b"\n") else {}
    except ValueError:
        value = {}
    return value if isinstance(value, dict) else {}
