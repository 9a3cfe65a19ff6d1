"""A training run's log: a line of JSON for each batch and each evaluation on dev."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

from mpir.core.checksum import add_checksum
from mpir.errors import MpirError, OutputError
from mpir.files.read import read_lines
from mpir.files.write import naming_output
from mpir.lab.train.checkpointer import STATE

log = logging.getLogger(__name__)


class RunLog:
    """The file ``log.jsonl`` in a run's folder, and its plot; files of other origin are never overwritten."""

    def __init__(self, folder: Path) -> None:
        """Do not read or write yet."""
        self.folder, self.path = folder, folder / "log.jsonl"

    def write(self, **values: Any) -> None:
        """Add a line. Raises OutputError if the folder cannot be written."""
        with naming_output(self.path):
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(add_checksum(values)) + "\n")

    def check_replaceable(self) -> None:
        """Raise OutputError for files that the run would overwrite and that no training run wrote."""
        if (self.folder / STATE).exists():
            return  # the first line identifies the run
        first = self._first_line()
        curves = self.folder / "curves.png"
        if first is None or (curves.exists() and not first):
            foreign = self.path if first is None else curves
            raise OutputError(f"{foreign}: was not written by a training run; move it, or choose another folder.")

    def _first_line(self) -> str | None:
        """Return the first line, or "" for an empty file; None if it is not the log of a run."""
        try:
            first = next((line for _, line in read_lines(self.path)), "") if self.path.is_file() else ""
            return first if not first or "step" in json.loads(first) else None
        except (MpirError, ValueError, TypeError):
            return None

    def drop_incomplete_line(self) -> None:
        """Remove an incomplete last line, left by a full disk or a power loss, before other lines are appended."""
        content = self.path.read_bytes() if self.path.is_file() else b""
        if content and not content.endswith(b"\n"):
            log.warning("%s: its last line is incomplete and is dropped", self.path)
            os.truncate(self.path, content.rfind(b"\n") + 1)
