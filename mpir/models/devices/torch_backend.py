"""The backend of an encoder: a checkpoint's texts and batches, on one device or several."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import takewhile
from typing import Any

import torch

from mpir.core.cancellation import is_awaited, raise_if_cancelled
from mpir.errors import error_context
from mpir.models.devices.device import choose_budget, choose_devices, choose_dtype, trim_memory
from mpir.models.devices.device_model import DeviceModel
from mpir.models.devices.output_heads import OUTPUTS, PooledVector, Reading
from mpir.models.devices.workers import Answers, BatchRunner, Workers
from mpir.models.loading.checkpoint import EXPECTED, read_score_layers
from mpir.models.loading.checkpoint_info import CheckpointInfo, longest_input, names_and_exits, over_length_identity
from mpir.models.loading.pretrained import checkpoint_errors
from mpir.models.loading.text_reader import TextReader
from mpir.models.options import FORMATS
from mpir.models.tokens.tokenise import TokenisedPairs, batches, truncation_side
from mpir.types import Bool

TRIMMED_FROM = 2_000
"""The number of pairs and texts after which free memory is released: seconds of work on a CPU. Buffers of many sizes
leave gaps, which would add up over the calls of a long job or the requests of a server."""


class TorchBackend:
    """A sequence-classification checkpoint that turns texts into tokens, and tokens into rows of numbers.

    Its `device_model` is that of the first device. Threads may share a backend.
    """

    def __init__(
        self,
        checkpoint: str,
        *,
        revision: str | None,
        max_length: int | None,
        device: str,
        precision: str,
        tokens_per_batch: int | None,
        trust_remote_code: bool = False,
        over_length: str,
    ) -> None:
        """Open a checkpoint without its weights. The options are those of `Encoder`.

        Raises:
            ArtefactError: the checkpoint cannot be loaded.
            InputError: no such device or precision, or a max_length or batch budget too small for a pair.
        """
        self.checkpoint, self.revision, self.over_length = checkpoint, revision, over_length
        self.devices = choose_devices(device)
        self.dtype = choose_dtype(precision, self.devices)
        self.trust_remote_code = trust_remote_code
        options: dict[str, Any] = {"dtype": self.dtype, "trust_remote_code": trust_remote_code}
        self.device_model = DeviceModel(checkpoint, revision, device=self.devices[0], **options)
        self.config, self.tokenizer = self.device_model.config, self.device_model.tokenizer
        with checkpoint_errors(checkpoint, EXPECTED), error_context(checkpoint):
            self.max_length = longest_input(self.config, self.tokenizer.model_max_length, max_length)
        self.reader = TextReader(checkpoint, self.tokenizer, self.max_length, truncates=over_length == "truncate")
        self._chain = read_score_layers(checkpoint)
        self.tokens_per_batch = choose_budget(tokens_per_batch, self.devices, self.max_length)
        self.device_model.tokens_per_batch = self.tokens_per_batch
        self._runner: BatchRunner | None = None
        self._untrimmed = 0

    @property
    def model(self) -> Any:
        """The model on the first device. Raises ArtefactError if it cannot be loaded."""
        return self.device_model.model

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of another backend with the same results, but for its device."""
        names = {dtype: name for name, dtype in FORMATS.items()}
        return {
            "checkpoint": self.checkpoint,
            "revision": self.revision,
            "max_length": self.max_length,
            "precision": names[str(self.dtype).removeprefix("torch.")],
            "tokens_per_batch": self.tokens_per_batch,
            "trust_remote_code": self.trust_remote_code,
            "over_length": self.over_length,
        }

    @cached_property
    def workers(self) -> Workers:
        """The worker processes, for several devices."""
        on_cpu = sum(device.type == "cpu" for device in self.devices)
        threads = max(1, torch.get_num_threads() // max(1, on_cpu))
        return Workers(TorchBackend, [{**self.settings, "device": str(device)} for device in self.devices], threads)

    def close(self) -> None:
        """End the processes of several devices; the next call starts new ones."""
        if "workers" in vars(self):
            self.workers.close()

    @property
    def info(self) -> CheckpointInfo:
        """The checkpoint's properties and identity."""
        chain = self._chain
        return CheckpointInfo(
            checkpoint=self.checkpoint,
            revision=self.revision,
            outputs_count=int(self.config.num_labels) if chain is None else chain.width(int(self.config.hidden_size)),
            max_length=self.max_length,
            precision=str(self.dtype).removeprefix("torch."),
            reading={
                **({} if chain is None else chain.identity),
                **over_length_identity(self.over_length, truncation_side(self.tokenizer)),
            },
            **names_and_exits(vars(self.config)),
        )

    @property
    def pair_reading(self) -> Reading:
        """How the outputs of pairs are read: by the classifier, or by the layers of a chain of modules."""
        return OUTPUTS if self._chain is None else PooledVector(self._chain, "reranking")

    def trim_after(self, count: int) -> None:
        """Count pairs or texts just read, and release free memory once there are enough."""
        self._untrimmed += count
        if self._untrimmed >= TRIMMED_FROM:
            self._untrimmed = 0
            trim_memory()

    def run_all(self, tokens: TokenisedPairs, reading: Reading, known: Bool | None = None) -> Answers:
        """Yield rows and their results, batch by batch, longest first, each with a bounded number of tokens.

        A batch is left out if all its rows are `known` (R,); that changes no other batch.

        Raises:
            CancellationError: the work is no longer awaited (cancellation.py).
        """
        unknown = (
            rows for rows in batches(tokens.lengths, self.tokens_per_batch) if known is None or not known[rows].all()
        )
        row_batches = takewhile(lambda _: is_awaited(), unknown)
        jobs = ((rows, tokens.sequences(rows)) for rows in row_batches)
        if runner := self._runner or (self.workers if len(self.devices) > 1 else None):
            yield from runner.run(jobs, reading)  # workers finish their batches and stay for the next call
        else:
            for rows, sequences in jobs:
                yield rows, self.device_model.run(sequences, reading)
        raise_if_cancelled()

    @contextmanager
    def batches_run_by(self, runner: BatchRunner, *, tokens_per_batch: int) -> Iterator[None]:
        """Have batches of this size run by `runner` in place of the devices here."""
        before = self.tokens_per_batch
        self._runner, self.tokens_per_batch = runner, tokens_per_batch
        try:
            yield
        finally:
            self._runner, self.tokens_per_batch = None, before
