"""The cross-encoder: a transformer that reads query and sentence together; each output can be a perspective.

The same transformer reads single texts for a bi-encoder (models/perspectives/bi_encoder.py). The backend is created
when needed (devices/torch_backend.py); until then, information comes from the checkpoint's files
(loading/checkpoint_info.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mpir.core.text.types import Pair
from mpir.models.checkpoint_files.identity import check_unchanged, files_state
from mpir.models.loading.checkpoint_info import CheckpointInfo, read_checkpoint_info
from mpir.models.options import (
    OverLength,
    cpu_precision,
    device_names,
    is_on_cpu,
    is_truncating,
    precision_name,
)
from mpir.models.vectors.embedding import MEAN, Pooling, Prompts
from mpir.types import F32, I64, Bool
from mpir.validation import optional_whole_number

if TYPE_CHECKING:  # an encoder can be described before torch is imported
    from tqdm import tqdm

    from mpir.files.vector_blocks import Blocks
    from mpir.models.devices.torch_backend import TorchBackend

PAIRS_PER_PASS = 16_384
"""Pairs that are tokenised and sorted together, so that memory does not grow with the number of pairs."""


class Encoder:
    """A sequence-classification checkpoint that reads (query, sentence) pairs and gives K raw outputs each.

    Its `backend`, which computes, is created when first needed, and its weights are loaded when the first pair is
    scored. `tokens_per_batch` counts padding; a batch that runs out of memory is halved. Threads may share an encoder.
    """

    def __init__(
        self,
        checkpoint: str | Path,
        *,
        revision: str | None = None,
        max_length: int | None = None,
        device: str = "auto",
        precision: str = "auto",
        tokens_per_batch: int | None = None,
        trust_remote_code: bool = False,
        over_length: OverLength = "passages",
        pair_prompts: Prompts = Prompts(),  # noqa: B008
    ) -> None:
        """Refer to a checkpoint by its folder or, where a hub is reachable, by its hub name.

        If its files alone are not sufficient (a hub name, a GPU, another type of model), it is opened at once;
        otherwise errors in other files, or in `max_length`, are raised on first use.

        `max_length` is the most tokens in a pair (by default the model's maximum). `device` is "auto", a torch device,
        or several separated by commas, each of which gets its own process: "cuda:0,cuda:1" or "cpu,cpu". `precision`
        is "fp32", "bf16", "fp16" or "auto" (bf16 where the hardware supports it). `trust_remote_code` allows the
        checkpoint's own Python code to run. `over_length` sets how longer texts are read: in overlapping ``passages``,
        or truncated at the end (``truncate``), as transformers does. `pair_prompts` tells how pairs are read: the text
        before a query, and whether in lower case.

        Raises:
            ArtefactError: the checkpoint cannot be loaded.
            InputError: no such device or precision, or a max_length or batch budget too small for a pair.
        """
        self.checkpoint = str(checkpoint)
        device, precision = device_names(device), precision_name(precision)
        if is_on_cpu(device):
            device, precision = "cpu", cpu_precision(precision)
        self._options: dict[str, Any] = {
            "revision": revision,
            "max_length": optional_whole_number("max_length", max_length),
            "device": device,
            "precision": precision,
            "tokens_per_batch": optional_whole_number("tokens_per_batch", tokens_per_batch),
            "trust_remote_code": trust_remote_code,
            "over_length": "truncate" if is_truncating(over_length) else "passages",
        }
        self.pair_prompts = pair_prompts
        self._contrasts: list[tuple[int, int]] = []
        self._state = files_state(self.checkpoint)
        declared = read_checkpoint_info(self.checkpoint, self._options) if device == "cpu" else None
        self.info: CheckpointInfo = self.backend.info if declared is None else declared

    @cached_property
    def backend(self) -> TorchBackend:
        """The tokenizer, the model and the devices. Raises as the constructor."""
        from mpir.models.devices.torch_backend import TorchBackend

        check_unchanged(self.checkpoint, self._state)
        return TorchBackend(self.checkpoint, **self._options)

    def close(self) -> None:
        """End the processes of several devices; the next call starts new ones."""
        if "backend" in vars(self):
            self.backend.close()

    @property
    def outputs_count(self) -> int:
        """The number of raw outputs (K) that the checkpoint gives for a pair."""
        return self.info.outputs_count

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that the outputs depend on: weights, length and precision.

        Raises:
            ArtefactError: a file changed after the model was opened.
        """
        identity = {**self.info.identity, **self.pair_prompts.identity}
        check_unchanged(self.checkpoint, self._state)
        return identity

    def column(self, output: int, against: int | None = None) -> int:
        """The column of `outputs` for a raw output or, registered by this call, for the difference of two."""
        if against is None:
            return output
        if (output, against) not in self._contrasts:
            self._contrasts.append((output, against))
        return self.outputs_count + self._contrasts.index((output, against))

    def outputs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[F32, Bool]:
        """Outputs (N, K plus registered differences) of pairs, and which pairs (N,) were read in passages.

        A pair longer than `max_length` is read in overlapping passages, and each column takes its maximum over them
        (MaxP); nothing is cut off.

        Raises:
            ArtefactError: the model cannot be loaded.
            DeviceError: no memory for a single pair, or no worker process is left.
        """
        values = np.full((len(pairs), self.outputs_count + len(self._contrasts)), -np.inf, np.float32)
        in_passages = np.zeros(len(pairs), bool)
        with progress_bar(len(pairs), "scoring", "pair", progress=progress) as bar:
            for start in range(0, len(pairs), PAIRS_PER_PASS):
                window = slice(start, start + PAIRS_PER_PASS)
                tokens = self.backend.reader.pairs(self.pair_prompts.apply_to_pairs(pairs[window]))
                in_passages[window] = np.bincount(tokens.pair_of) > 1
                first = np.diff(tokens.pair_of, prepend=-1) > 0
                with closing(self.backend.run_all(tokens, self.backend.pair_reading)) as batches_read:
                    for rows, logits in batches_read:
                        np.maximum.at(values, start + tokens.pair_of[rows], self.with_contrasts(logits))
                        bar.update(int(first[rows].sum()))
        self.backend.trim_after(len(pairs))
        return values, in_passages

    def with_contrasts(self, logits: F32) -> F32:
        """Raw outputs (N, K) with the registered differences."""
        return np.hstack([logits, *(logits[:, [first]] - logits[:, [second]] for first, second in self._contrasts)])

    def vectors(
        self,
        texts: Sequence[str],
        *,
        pooling: Pooling = MEAN,
        prompt: str = "",
        titles: str = "joined",
        progress: bool = False,
        partial: Blocks | None = None,
    ) -> tuple[F32, I64]:
        """Vectors (R, W) of N texts, each read alone, and the index (R,) of each vector's text, ascending.

        By default they are unit vectors of the mean states. R ≥ N: a text longer than `max_length` has one vector for
        each of its overlapping passages, all of which begin with the `prompt`. `titles` is the field of `Prompts`. With
        `partial`, batches that an interrupted call has finished are not read again; the vectors are the same.

        Raises:
            ArtefactError: the model cannot be loaded, or its tokenizer fails.
            DeviceError: no memory for a single text, or no worker process is left.
        """
        from mpir.models.devices.output_heads import PooledVector

        backend, prompted = self.backend, [prompt + text for text in texts] if titles != "joined" else []
        reader = backend.reader
        tokens = reader.texts(texts, prompt) if titles == "joined" else reader.titled(prompted, titles)
        values = np.zeros((len(tokens.lengths), pooling.width(int(backend.config.hidden_size))), np.float32)
        known = None if partial is None else partial.restore(values, tokens.pair_of)
        bar = progress_bar(len(values), "reading texts", "text", progress=progress)
        with bar, closing(self.backend.run_all(tokens, PooledVector(pooling), known)) as batched:
            for rows, batch_vectors in batched:
                values[rows] = batch_vectors
                bar.update(len(rows))
                if partial is not None:
                    partial.add(rows)
        self.backend.trim_after(len(texts))
        return values, tokens.pair_of

    def count_prompt_tokens(self, prompt: str) -> int:
        """The number of tokens of a prompt at the beginning of a text, with special ones before it."""
        reader = self.backend.reader
        return len(reader.texts([prompt]).ids[0]) - reader.tokens_after_texts


def progress_bar(total: int, description: str, unit: str, *, progress: bool) -> tqdm[Any]:
    """A progress bar over `total` units, hidden without `progress`."""
    from tqdm import tqdm

    return tqdm(total=total, desc=description, unit=unit, disable=not progress)
