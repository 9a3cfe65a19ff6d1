"""Finished pieces of a long job (questions, trials), one JSON line each: what an interrupted run resumes from."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mpir.errors import OutputError
from mpir.io.hash import fingerprint
from mpir.io.read import open_bytes
from mpir.io.write import atomic_write
from mpir.version import __version__

log = logging.getLogger(__name__)


class Records(Mapping[str, dict[str, Any]]):
    """The records of a journal by their id. Only their places are in memory; a record is read when asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.places: dict[str, int] = {}

    def __getitem__(self, identifier: str) -> dict[str, Any]:
        place = self.places[identifier]
        with open_bytes(self._path) as stream:
            stream.seek(place)
            record: dict[str, Any] = json.loads(stream.readline())
        return record

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


class Journal:
    """The records of finished pieces by their id, for one way of making them.

    The first line says how they were made. A journal made in another way is moved aside (".old"), and a last line that
    was cut off by an interrupt is dropped.
    """

    def __init__(self, path: str | Path, settings: Mapping[str, Any]) -> None:
        """Open or start the journal of `settings` (JSON-able). Raises OutputError where it cannot be written."""
        self.path = Path(path)
        self.records = Records(self.path)
        header = {"mpir": __version__, "settings": fingerprint(dict(settings))}
        if end := self._read(header) if self.path.exists() else 0:
            with self._writing():
                os.truncate(self.path, end)  # so that new lines never follow a broken one
        else:
            with atomic_write(self.path, binary=True) as stream:
                stream.write(_line(header))

    def _read(self, header: Mapping[str, Any]) -> int:
        """Find the records. The end of the last whole line, or 0 where the journal is to be started anew."""
        end = 0
        with open_bytes(self.path) as stream:
            for line in stream:
                record = _parsed(line)
                if end == 0 and record != header:
                    self._move_aside()
                    return 0
                if end and "id" not in record:
                    log.warning("%s: its last line is incomplete and is done anew", self.path)
                    break
                if end:
                    self.records.places[record["id"]] = end
                end += len(line)
        return end

    def _move_aside(self) -> None:
        """Keep what may have taken hours: the settings may have been a slip."""
        old = self.path.with_name(f"{self.path.name}.old")
        log.warning("%s: made with other settings, so it is done anew; the old one is now %s", self.path, old.name)
        with self._writing():
            self.path.replace(old)

    def add(self, identifier: str, record: Mapping[str, Any]) -> None:
        """Append a finished piece and hand it to the disk. Raises OutputError where it cannot be written."""
        with self._writing(), open(self.path, "ab") as stream:
            place = stream.tell()
            stream.write(_line({"id": identifier, **record}))
            stream.flush()
            os.fsync(stream.fileno())
        self.records.places[identifier] = place

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written ({error.strerror}); check free space.") from error


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _parsed(line: bytes) -> dict[str, Any]:
    """The object of a whole line; an empty one for anything else."""
    try:
        value = json.loads(line) if line.endswith(b"\n") else {}
    except ValueError:
        value = {}
    return value if isinstance(value, dict) else {}
