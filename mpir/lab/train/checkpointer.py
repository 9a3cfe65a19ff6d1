"""Save and restore a training run: its state, and the best checkpoint on dev."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from mpir.errors import ArtefactError
from mpir.files.checksum import verify_bytes, write_bytes_with_checksum
from mpir.files.files import write_file_list
from mpir.files.folder_format import CHECKPOINT
from mpir.files.write import atomic_folder
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
