"""A checkpoint's model on one device, in one number format: it turns batches of tokens into rows of numbers."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch

from mpir.errors import ArtefactError, DeviceError
from mpir.models.bert.base import UnpaddedModel
from mpir.models.bert.unpadded import can_unpad, unpad
from mpir.models.checkpoint_files.identity import check_unchanged, files_state
from mpir.models.devices.device import free_memory, is_out_of_memory
from mpir.models.devices.output_heads import OUTPUTS, Classifier, Reading
from mpir.models.devices.padding_check import read_singly
from mpir.models.loading.checkpoint import load_model, open_checkpoint
from mpir.models.tokens.tokenise import TokenSequence, pad
from mpir.types import F32

log = logging.getLogger(__name__)
HALVINGS = 8
"""How often a batch that runs out of memory is halved before an error is raised."""
_computing: set[int] = set()
"""The ids of this process, once it has computed, and of ancestors that had computed before the fork."""


class DeviceModel:
    """A checkpoint's model, loaded when first needed. A batch that runs out of memory is halved."""

    def __init__(
        self,
        checkpoint: str,
        revision: str | None,
        *,
        device: torch.device,
        dtype: torch.dtype,
        trust_remote_code: bool = False,
    ) -> None:
        """Open a checkpoint without its weights. Raises ArtefactError if it cannot be loaded.

        The backend sets `tokens_per_batch`, by which it makes batches, for messages.
        """
        self.checkpoint, self.revision, self.device, self.dtype = checkpoint, revision, device, dtype
        self._state = files_state(checkpoint)
        self._source = open_checkpoint(checkpoint, revision, trust_remote_code=trust_remote_code)
        self.config, self.tokenizer = self._source.config, self._source.tokenizer
        self.tokens_per_batch: int | None = None
        self._fits = float("inf")
        self._missing: list[str] = []
        self._single: set[bool] = set()

    @cached_property
    def model(self) -> Any:
        """The model on the first device; missing weights are random. Raises ArtefactError as `run`."""
        with torch.inference_mode(False):  # ordinary tensors, whatever the first caller's mode
            model, self._missing = load_model(self._source, self.checkpoint, self.revision)
            check_unchanged(self.checkpoint, self._state)
            if not can_unpad(model):
                self._single = read_singly(model, self.tokenizer, lambda texts: self._padded(texts, "cpu"))
            return model.to(device=self.device, dtype=self.dtype)

    @cached_property
    def _unpadded(self) -> UnpaddedModel | None:
        """The model's forward pass without padding, if its type is supported."""
        return unpad(self.model) if can_unpad(self.model) else None

    def run(self, sequences: Sequence[TokenSequence], reading: Reading = OUTPUTS, halvings: int = HALVINGS) -> F32:
        """Logits (n, K) or vectors (n, W) of a batch on the first device; it is halved if memory runs out.

        Raises:
            DeviceError: no memory for a single sequence, or still none after `halvings`.
        """
        size = len(sequences) * max(len(tokens.ids) for tokens in sequences)
        if size <= self._fits or len(sequences) == 1:
            try:
                return self._forward(sequences, reading)
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                if len(sequences) == 1 or halvings == 0:
                    raise DeviceError(
                        f"device {str(self.device)!r} has no memory for a batch of {len(sequences)} × "
                        f"{size // len(sequences)} tokens; free some, lower tokens_per_batch (now "
                        f"{self.tokens_per_batch}), or choose another device."
                    ) from error
            halvings -= 1
            self._fits = size // 2
            log.warning("%s: no memory for a batch of %d tokens; batches are halved", self.device, size)
            free_memory()
        middle = len(sequences) // 2
        halves = (sequences[:middle], sequences[middle:])
        return np.concatenate([self.run(half, reading, halvings) for half in halves])

    def _check_trained(self, reading: Reading) -> None:
        """Raise ArtefactError if the reading would use random weights. A vector needs neither classifier nor pooler."""
        model, missing = self.model, self._missing  # in this order, because loading the model sets what is missing
        if not missing:
            return
        body = "" if getattr(model, "base_model", None) is model else f"{model.base_model_prefix}."
        if random := [name for name in missing if reading.reads(name, body)]:
            raise ArtefactError(
                f"{self.checkpoint}: the weights {random[:3]} are missing and would be random; give a checkpoint that "
                f"was trained for {reading.purpose}."
            )

    def _check_numbers(self, sequences: Sequence[TokenSequence]) -> None:
        """Raise ArtefactError if the tokenizer gives ids for which the model has no embeddings."""
        count = getattr(self.config, "vocab_size", None)
        highest = max(int(tokens.ids.max()) for tokens in sequences)
        if isinstance(count, int) and highest >= count:
            raise ArtefactError(
                f"{self.checkpoint}: its tokenizer gives the token number {highest}, but the model has {count} word "
                "vectors. Restore tokenizer.json, or give another checkpoint."
            )

    @torch.inference_mode()
    def _forward(self, sequences: Sequence[TokenSequence], reading: Reading) -> F32:
        """Logits (n, K) or vectors (n, W) of a batch, in one forward pass."""
        _limit_threads_after_fork()
        self._check_trained(reading)
        self._check_numbers(sequences)
        if self._unpadded is not None:
            return np.asarray(reading.unpadded(self._unpadded, sequences).float().numpy(force=True))
        is_single = isinstance(reading, Classifier) in self._single
        rows = [[tokens] for tokens in sequences] if is_single else [sequences]
        outputs = [reading.padded(self.model, self._padded(row, self.device)).float() for row in rows]
        return np.asarray(torch.cat(outputs).numpy(force=True))

    def _padded(self, sequences: Sequence[TokenSequence], device: torch.device | str) -> dict[str, torch.Tensor]:
        """The inputs of a padded batch, those that the tokenizer names."""
        inputs = pad(sequences, self.tokenizer.pad_token_id or 0)
        names = [name for name in self.tokenizer.model_input_names if name in inputs]
        return {name: torch.from_numpy(inputs[name]).to(device) for name in names}


def _limit_threads_after_fork() -> None:
    """Call before torch computes: a process forked from one that has computed is limited to one thread.

    The parent's threads do not exist in the child, and OpenMP would wait for them for ever.
    """
    if (process := os.getpid()) not in _computing and _computing:
        torch.set_num_threads(1)
    _computing.add(process)
