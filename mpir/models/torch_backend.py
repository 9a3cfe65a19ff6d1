"""The backend of an encoder: a checkpoint's tokenizer and model, run in batches on one device or several."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import takewhile
from typing import Any, TypeVar

import numpy as np
import torch

from mpir.core.cancellation import is_awaited, raise_if_cancelled
from mpir.core.text.types import Pair
from mpir.errors import ArtefactError, DeviceError, error_context
from mpir.models.bert.base import UnpaddedModel
from mpir.models.bert.unpadded import can_unpad, unpad
from mpir.models.checkpoint import EXPECTED, load_model, open_checkpoint, read_score_layers
from mpir.models.checkpoint_info import CheckpointInfo, longest_input, names_and_exits, over_length_identity
from mpir.models.device import (
    choose_budget,
    choose_devices,
    choose_dtype,
    free_memory,
    is_out_of_memory,
    trim_memory,
)
from mpir.models.identity import check_unchanged, files_state
from mpir.models.options import FORMATS
from mpir.models.output_heads import OUTPUTS, Classifier, PooledVector, Reading
from mpir.models.padding_check import read_singly
from mpir.models.pretrained import checkpoint_errors, raise_checkpoint_error
from mpir.models.single_texts import SingleTexts, read_single
from mpir.models.tokenise import (
    OneSegment,
    PairTokenizer,
    TokenisedPairs,
    TokenSequence,
    batches,
    pad,
    truncation_side,
)
from mpir.models.workers import Answers, BatchRunner, Workers
from mpir.types import F32, Bool

log = logging.getLogger(__name__)
Tokens = TypeVar("Tokens")

TRIMMED_FROM = 2_000
"""The number of pairs and texts after which free memory is released: seconds of work on a CPU. Buffers of many sizes
leave gaps, which would add up over the calls of a long job or the requests of a server."""
HALVINGS = 8
"""How often a batch that runs out of memory is halved before an error is raised."""
_computing: set[int] = set()
"""The ids of this process, once it has computed, and of ancestors that had computed before the fork."""


class TorchBackend:
    """A sequence-classification checkpoint that turns texts into tokens, and tokens into rows of numbers.

    Its model is loaded when first needed. A batch that runs out of memory is halved. Threads may share a backend.
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
        self._state = files_state(checkpoint)
        self._source = open_checkpoint(checkpoint, revision, trust_remote_code=trust_remote_code)
        self.config, self.tokenizer = self._source.config, self._source.tokenizer
        with checkpoint_errors(checkpoint, EXPECTED), error_context(checkpoint):
            self.max_length = longest_input(self.config, self.tokenizer.model_max_length, max_length)
        self._chain = read_score_layers(checkpoint)
        self.tokens_per_batch = choose_budget(tokens_per_batch, self.devices, self.max_length)
        self._runner: BatchRunner | None = None
        self._fits = float("inf")
        self._untrimmed = 0
        self._missing: list[str] = []
        self._single: set[bool] = set()

    @cached_property
    def pair_tokenizer(self) -> PairTokenizer:
        """Tokenises pairs. Raises InputError if the length is too small for a pair."""
        with checkpoint_errors(self.checkpoint, EXPECTED), error_context(self.checkpoint):
            return PairTokenizer(self.tokenizer, self.max_length, truncates=self.truncates)

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

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of another backend with the same results, but for its device."""
        return {
            "checkpoint": self.checkpoint,
            "revision": self.revision,
            "max_length": self.max_length,
            "precision": next(name for name, dtype in FORMATS.items() if dtype == self._dtype_name),
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
    def device(self) -> torch.device:
        """The device, or the first of several."""
        return self.devices[0]

    @property
    def _dtype_name(self) -> str:
        return str(self.dtype).removeprefix("torch.")

    @property
    def truncates(self) -> bool:
        """Whether longer texts are truncated."""
        return self.over_length == "truncate"

    @property
    def hidden_size(self) -> int:
        """The width of the states."""
        return int(self.config.hidden_size)

    @property
    def info(self) -> CheckpointInfo:
        """The checkpoint's properties and identity."""
        chain = self._chain
        return CheckpointInfo(
            checkpoint=self.checkpoint,
            revision=self.revision,
            outputs_count=int(self.config.num_labels) if chain is None else chain.width(self.hidden_size),
            max_length=self.max_length,
            precision=self._dtype_name,
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

    def read_pairs(self, pairs: Sequence[Pair]) -> TokenisedPairs:
        """Tokenise pairs. Raises ArtefactError if the tokenizer fails."""
        return self.tokenised(lambda: self.pair_tokenizer.read(pairs))

    def read_texts(self, texts: Sequence[str], prompt: str = "") -> SingleTexts:
        """Tokenise texts, each on its own and behind a prompt. Raises ArtefactError if the tokenizer fails."""
        options: dict[str, Any] = {"prompt": prompt, "truncates": self.truncates}
        return self.tokenised(lambda: read_single(self.tokenizer, self.max_length, texts, **options))

    def read_titled(self, texts: Sequence[str], titles: str) -> TokenisedPairs:
        """Tokenise documents as pairs of their first line, the title, and their other text, if `titles` is "pair".

        If it is "separated", all tokens are in the first segment. Raises ArtefactError if the tokenizer fails.
        """
        lines = [text.partition("\n") if "\n" in text else ("", "", text) for text in texts]
        tokens = self.read_pairs([(title, body) for title, _, body in lines])
        return tokens if titles == "pair" else OneSegment(tokens)

    @cached_property
    def tokens_after_texts(self) -> int:
        """The number of special tokens behind a text."""
        ids = self.read_texts([""]).ids[0]
        return int(len(ids) > 0 and ids[-1] == self.read_texts(["a"]).ids[0][-1])

    def tokenised(self, read: Callable[[], Tokens]) -> Tokens:
        """Return what `read` returns. Raises ArtefactError if the tokenizer fails."""
        try:
            return read()
        except BaseException as error:  # tokenizers do not document their errors
            raise_checkpoint_error(error, self.checkpoint, EXPECTED)

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
            yield from ((rows, self.run(sequences, reading)) for rows, sequences in jobs)
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
