"""Finished pieces of a long job (questions, trials), one JSON line each: what an interrupted run resumes from."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mpir
from mpir.errors import InputError, OutputError
from mpir.files import atomic_write, fingerprint, read_json_lines

log = logging.getLogger(__name__)


class Journal:
    """The records of finished pieces by their id, for one way of making them.

    The first line says how they were made. A journal made in another way is started anew, and a last line that
    was cut off by an interrupt is dropped.
    """

    def __init__(self, path: str | Path, settings: Mapping[str, Any]) -> None:
        """Open or start the journal of `settings` (JSON-able). Raises OutputError where it cannot be written."""
        self.path = Path(path)
        self._header = {"mpir": mpir.__version__, "settings": fingerprint(dict(settings))}
        self.records: dict[str, dict[str, Any]] = {}
        if self.path.exists():
            self._read()
        # Written anew, so that new lines never follow a broken one.
        with atomic_write(self.path) as stream:
            stream.writelines(_line(value) for value in (self._header, *self.records.values()))

    def _read(self) -> None:
        lines = read_json_lines(self.path)
        try:
            if next(lines, (0, None))[1] != self._header:
                log.warning("%s: made with other settings, so everything in it is done anew", self.path)
                return
            for _, record in lines:
                self.records[record["id"]] = record
        except (InputError, KeyError):
            log.warning("%s: its last line is incomplete and is done anew", self.path)

    def add(self, identifier: str, record: Mapping[str, Any]) -> None:
        """Append a finished piece and hand it to the disk. Raises OutputError where it cannot be written."""
        self.records[identifier] = {"id": identifier, **record}
        try:
            with open(self.path, "a", encoding="utf-8") as stream:
                stream.write(_line(self.records[identifier]))
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written ({error.strerror}); check free space.") from error


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"
