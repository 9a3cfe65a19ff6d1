"""Save and restore a training run: its state, its best checkpoint on dev, and its log."""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from mpir.core.checksum import add_checksum
from mpir.errors import ArtefactError, MpirError, OutputError
from mpir.files.checksum import verify_bytes, write_bytes_with_checksum
from mpir.files.files import write_file_list
from mpir.files.folder_format import CHECKPOINT
from mpir.files.read import read_lines
from mpir.files.write import atomic_folder, naming_output
from mpir.lab.train.run_state import RunIdentity, RunState

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


STATE = "state.pt"
log = logging.getLogger(__name__)


class Checkpointer:
    """Saves a run's state and its best checkpoint in `folder`, and resumes runs from there."""

    def __init__(self, folder: Path) -> None:
        """Do not read or write yet."""
        self.best, self.path = folder / "best", folder / STATE

    def save(self, state: RunState) -> None:
        """Replace the saved state. Raises OutputError if the folder cannot be written."""
        with write_bytes_with_checksum(self.path) as stream:
            torch.save(state.to_values(), stream)

    def save_best(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        """Replace the best checkpoint. Raises OutputError if the folder cannot be written."""
        with atomic_folder(self.best, CHECKPOINT) as temporary:
            model.save_pretrained(temporary)
            tokenizer.save_pretrained(temporary)
            write_file_list(temporary)

    def resume(self, run: RunIdentity, restore: Callable[[RunState], None]) -> bool:
        """Pass the saved state of `run` to `restore`; return False if there is none.

        Raises:
            ArtefactError: the state is damaged, does not fit the model, or belongs to another run, or its best
                checkpoint is missing.
        """
        if not self.path.exists():
            return False
        try:
            verify_bytes(self.path, "remove it to start the run anew")
            state = RunState.from_values(torch.load(self.path, weights_only=True, map_location="cpu"))
            self._check(state, run)
            restore(state)
        except ArtefactError:
            raise
        except Exception as error:  # torch can raise any error while unpickling
            message = f"{self.path}: is damaged and cannot be resumed from; remove it to start the run anew."
            raise ArtefactError(message) from error
        return True

    def _check(self, state: RunState, run: RunIdentity) -> None:
        if difference := run.difference(state.run):
            raise ArtefactError(f"{self.path}: belongs to a run {difference}; choose another folder or remove it.")
        if not (self.best / "config.json").is_file() and state.counters.best > -math.inf:
            raise ArtefactError(
                f"{self.best}: the best checkpoint so far is gone; remove {self.path} to start the run anew."
            )


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
