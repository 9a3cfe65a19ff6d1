"""The cross-encoder: one transformer reads question and sentence together; each output can be a perspective.

The same transformer reads single texts for a bi-encoder (bi_encoder.py).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from itertools import chain, repeat, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from mpir.errors import ArtefactError, DeviceError, error_context
from mpir.models.bert.unpadded import UnpaddedBert, can_unpad
from mpir.models.cancellation import is_awaited, raise_if_cancelled
from mpir.models.checkpoint import EXPECTED, load_model, open_checkpoint
from mpir.models.device import (
    after_a_fork,
    choose_budget,
    choose_devices,
    choose_dtype,
    free_memory,
    is_out_of_memory,
    trim_memory,
)
from mpir.models.identity import identity_of
from mpir.models.interaction import Interaction, maxsim
from mpir.models.late import LateInteraction, TokenName
from mpir.models.module_chain import read_score_layers
from mpir.models.options import OverLength, is_truncating
from mpir.models.output_heads import OUTPUTS, PooledVector, Reading, token_reading
from mpir.models.pooling import MEAN, Pooling
from mpir.models.pretrained import checkpoint_errors
from mpir.models.tokenise import PairTokenizer, TokenisedPairs, TokenSequence, batches, pad, read_alone
from mpir.models.workers import Answers, Workers
from mpir.text.types import Pair
from mpir.types import F32, I64, Bool

log = logging.getLogger(__name__)

PAIRS_PER_PASS = 16_384
"""Pairs tokenised and sorted together, so that memory does not grow with the number of pairs."""
TRIMMED_FROM = 2_000
"""Pairs and texts after which free memory is handed back: seconds of work on a CPU. Buffers of many sizes leave gaps
between them, which would add up over the calls of a long job or the requests of a server."""
HALVINGS = 8
"""How often a batch that found no memory is halved before that is an error."""
PADDED_POSITIONS = {"camembert", "data2vec-text", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl"}
"""Types of models that count positions from the number of their padding token on, and so read fewer tokens."""


class Encoder:
    """A sequence-classification checkpoint that reads (question, sentence) pairs and gives K raw outputs each.

    Its model is loaded when first needed. `tokens_per_batch` counts padding; a batch that finds no memory is halved.
    Many threads may use one.
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
    ) -> None:
        """Open a checkpoint in a folder or, where a hub can be reached, by its hub name.

        `max_length` is the most tokens of a pair (by default what the model was made for). `device` is "auto", a torch
        device, or several with commas between them, each of which gets a process of its own: "cuda:0,cuda:1" or
        "cpu,cpu". `precision` is "fp32", "bf16", "fp16" or "auto" (bf16 where the hardware computes with it).
        `trust_remote_code` lets Python code that comes with the checkpoint run. `over_length` says how longer texts are
        read: in overlapping ``passages``, or cut at their end (``truncate``), as transformers does.

        Raises:
            ArtefactError: the checkpoint cannot be loaded.
            InputError: no such device or precision, or a max_length or batch budget too small for a pair.
        """
        self.checkpoint, self.revision = str(checkpoint), revision
        self.devices = choose_devices(device)
        self.dtype = choose_dtype(precision, self.devices)
        self.trust_remote_code = trust_remote_code
        self._source = open_checkpoint(self.checkpoint, revision, trust_remote_code=trust_remote_code)
        self.config, self.tokenizer = self._source.config, self._source.tokenizer
        with checkpoint_errors(self.checkpoint, EXPECTED), error_context(self.checkpoint):
            longest = int(min(positions_of(self.config), self.tokenizer.model_max_length))
            self.max_length = min(max_length or longest, longest)
            self.truncates = is_truncating(over_length)
            self._reader = PairTokenizer(self.tokenizer, self.max_length, truncates=self.truncates)
        self._chain = read_score_layers(self.checkpoint)
        self.tokens_per_batch = choose_budget(tokens_per_batch, self.devices, self.max_length)
        self._contrasts: list[tuple[int, int]] = []
        self._fits = float("inf")
        self._untrimmed = 0
        self._missing: list[str] = []

    @cached_property
    def model(self) -> Any:
        """The model on the first device; what its checkpoint lacks is random. Raises ArtefactError as `outputs`."""
        with torch.inference_mode(False):  # whoever asks first: the weights are ordinary tensors
            model, self._missing = load_model(self._source, self.checkpoint, self.revision)
            return model.to(device=self.device, dtype=self.dtype)

    @cached_property
    def _unpadded(self) -> UnpaddedBert | None:
        """The model's forward pass without padding, where there is one for its kind."""
        return UnpaddedBert(self.model) if can_unpad(self.model) else None

    @cached_property
    def workers(self) -> Workers:
        """The processes that compute where there are several devices."""
        settings = {
            "checkpoint": self.checkpoint,
            "revision": self.revision,
            "max_length": self.max_length,
            "precision": {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}[self.dtype],
            "tokens_per_batch": self.tokens_per_batch,
            "trust_remote_code": self.trust_remote_code,
            "over_length": "truncate" if self.truncates else "passages",
        }
        on_cpu = sum(device.type == "cpu" for device in self.devices)
        threads = max(1, torch.get_num_threads() // max(1, on_cpu))
        return Workers(Encoder, [{**settings, "device": str(device)} for device in self.devices], threads)

    def close(self) -> None:
        """End the processes of several devices; the next call starts new ones."""
        if "workers" in vars(self):
            self.workers.close()

    @property
    def device(self) -> torch.device:
        """The device or, of several, the first."""
        return self.devices[0]

    @property
    def outputs_count(self) -> int:
        """How many raw outputs (K) the checkpoint gives for a pair."""
        if self._chain is not None:
            return self._chain.width(int(self.config.hidden_size))
        return int(self.config.num_labels)

    @property
    def identity(self) -> dict[str, Any]:
        """What the outputs depend on: the weights, the length and the precision."""
        precision = str(self.dtype).removeprefix("torch.")
        layers = {} if self._chain is None else self._chain.identity
        cut = {"over_length": "truncate"} if self.truncates else {}
        return {**identity_of(self.checkpoint, self.revision, self.max_length, precision), **layers, **cut}

    def column(self, output: int, against: int | None = None) -> int:
        """The column of `outputs` with a raw output or, from now on, with the difference of two."""
        if against is None:
            return output
        if (output, against) not in self._contrasts:
            self._contrasts.append((output, against))
        return self.outputs_count + self._contrasts.index((output, against))

    def outputs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[F32, Bool]:
        """Outputs (N, K and the differences `column` was asked for) of pairs, and which (N,) were read in passages.

        A pair that is longer than `max_length` is read in overlapping passages, and each column has its highest value
        in any of them (MaxP); nothing is cut.

        Raises:
            ArtefactError: the model cannot be loaded.
            DeviceError: no memory for a single pair, or no worker process is left.
        """
        values = np.full((len(pairs), self.outputs_count + len(self._contrasts)), -np.inf, np.float32)
        in_passages = np.zeros(len(pairs), bool)
        reading = OUTPUTS if self._chain is None else PooledVector(self._chain, "reranking")
        with tqdm(total=len(pairs), desc="scoring", unit="pair", disable=not progress) as bar:
            for start in range(0, len(pairs), PAIRS_PER_PASS):
                window = slice(start, start + PAIRS_PER_PASS)
                with checkpoint_errors(self.checkpoint, EXPECTED):
                    tokens = self._reader.read(pairs[window])
                in_passages[window] = np.bincount(tokens.pair_of) > 1
                first = np.diff(tokens.pair_of, prepend=-1) > 0
                with closing(self._run_all(tokens, reading)) as batches_read:
                    for rows, logits in batches_read:
                        np.maximum.at(values, start + tokens.pair_of[rows], self._with_contrasts(logits))
                        bar.update(int(first[rows].sum()))
        self._trim(len(pairs))
        return values, in_passages

    def _trim(self, count: int) -> None:
        """Hand free memory back once enough has been read."""
        self._untrimmed += count
        if self._untrimmed >= TRIMMED_FROM:
            self._untrimmed = 0
            trim_memory()

    def _with_contrasts(self, logits: F32) -> F32:
        return np.hstack([logits, *(logits[:, [first]] - logits[:, [second]] for first, second in self._contrasts)])

    def vectors(self, texts: Sequence[str], *, pooling: Pooling = MEAN, progress: bool = False) -> tuple[F32, I64]:
        """Vectors (R, W) of N texts, each read alone, and the text (R,) that each belongs to, ascending.

        By default they are unit vectors of the mean states. R ≥ N: a text that is longer than `max_length` has one
        vector for each of its overlapping passages.

        Raises:
            ArtefactError: the model cannot be loaded, or its tokenizer is not a fast one.
            DeviceError: no memory for a single text, or no worker process is left.
        """
        with checkpoint_errors(self.checkpoint, EXPECTED):
            tokens = read_alone(self.tokenizer, self.max_length, texts, truncates=self.truncates)
        values = np.zeros((len(tokens.lengths), pooling.width(int(self.config.hidden_size))), np.float32)
        bar = tqdm(total=len(values), desc="reading texts", unit="text", disable=not progress)
        with bar, closing(self._run_all(tokens, PooledVector(pooling))) as batched:
            for rows, batch_vectors in batched:
                values[rows] = batch_vectors
                bar.update(len(rows))
        self._trim(len(texts))
        return values, tokens.pair_of

    def token_vectors(
        self, texts: Sequence[str], late: LateInteraction, *, question: bool, progress: bool = False
    ) -> tuple[list[torch.Tensor], I64]:
        """A vector of each token that counts (T, W), for R passages of N texts, and the text (R,) of each passage.

        They are in the encoder's number format, on the CPU. R ≥ N, as in `vectors`.

        Raises:
            ArtefactError: the model cannot be loaded, or is not trained for it, or its tokenizer is not a fast one.
            InputError: its tokenizer has no such marker, or no mask token.
            DeviceError: no memory for a single text, or no worker process is left.
        """
        with checkpoint_errors(self.checkpoint, EXPECTED):
            tokens = late.read(self.tokenizer, texts, question=question, max_length=self.max_length)
        reading = token_reading(late, self.tokenizer, question=question)
        values = [torch.empty(0)] * len(tokens.lengths)
        bar = tqdm(total=len(values), desc="reading texts", unit="text", disable=not progress)
        with bar, closing(self._run_all(tokens, reading)) as batched:
            for rows, batch_vectors in batched:
                token_batches = torch.split(
                    torch.from_numpy(batch_vectors).to(self.dtype), tokens.lengths[rows].tolist()
                )
                for row, vectors in zip(rows.tolist(), token_batches, strict=True):
                    counted = late.counting(self.tokenizer, tokens.ids[row], question=question)
                    values[row] = vectors[torch.from_numpy(counted)]
                bar.update(len(rows))
        return values, tokens.pair_of

    def token_names(self, text: str, late: LateInteraction, *, question: bool) -> list[list[TokenName]]:
        """What the vectors of `token_vectors` belong to: of each passage, the tokens that count."""
        tokens = late.read(self.tokenizer, [text], question=question, max_length=self.max_length, spans=True)
        return [
            [
                (text[begin:end] or self.tokenizer.convert_ids_to_tokens(int(number)), (begin, end))
                for number, (begin, end), counts in zip(
                    ids,
                    chain(where.tolist(), repeat((0, 0))),
                    late.counting(self.tokenizer, ids, question=question),
                    strict=False,
                )
                if counts
            ]
            for ids, where in zip(tokens.ids, tokens.spans, strict=True)
        ]

    @property
    def interaction(self) -> Interaction:
        """How the token vectors of two texts are compared: the model's own way, or by the best product of each."""
        return getattr(self.model, "interaction", maxsim)

    def _run_all(self, tokens: TokenisedPairs, reading: Reading) -> Answers:
        """Rows and what is read off them, batch by batch: longest first, each of a bounded number of tokens.

        Raises:
            CancellationError: nobody waits for them any more (cancellation.py).
        """
        row_batches = takewhile(lambda _: is_awaited(), batches(tokens.lengths, self.tokens_per_batch))
        jobs = ((rows, tokens.sequences(rows)) for rows in row_batches)
        if len(self.devices) > 1:
            yield from self.workers.run(jobs, reading)  # which end what they have begun, and stay for the next
        else:
            yield from ((rows, self.run(sequences, reading)) for rows, sequences in jobs)
        raise_if_cancelled()

    def run(self, sequences: Sequence[TokenSequence], reading: Reading = OUTPUTS, halvings: int = HALVINGS) -> F32:
        """Logits (n, K) or vectors (n, W) of a batch on the first device; without memory for it, half by half.

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
        """Raise ArtefactError where what is read would be random. A vector needs neither classifier nor pooler."""
        model, missing = self.model, self._missing  # in this order: loading the model says what is missing
        if not missing:
            return
        body = f"{model.base_model_prefix}."
        if random := [name for name in missing if reading.reads(name, body)]:
            raise ArtefactError(
                f"{self.checkpoint}: the weights {random[:3]} are missing and would be random; give a checkpoint that "
                f"was trained for {reading.purpose}."
            )

    def _check_numbers(self, sequences: Sequence[TokenSequence]) -> None:
        """Raise ArtefactError where the tokenizer gives numbers for which the model has no vectors."""
        count = getattr(self.config, "vocab_size", None)
        highest = max(int(tokens.ids.max()) for tokens in sequences)
        if isinstance(count, int) and highest >= count:
            raise ArtefactError(
                f"{self.checkpoint}: its tokenizer gives the token number {highest}, but the model has {count} word "
                "vectors. Restore tokenizer.json, or give another checkpoint."
            )

    @torch.inference_mode()
    def _forward(self, sequences: Sequence[TokenSequence], reading: Reading) -> F32:
        """Logits (n, K) or vectors (n, W) of a batch in one forward pass."""
        after_a_fork()
        self._check_trained(reading)
        self._check_numbers(sequences)
        if self._unpadded is not None:
            return np.asarray(reading.unpadded(self._unpadded, sequences).float().numpy(force=True))
        inputs = pad(sequences, self.tokenizer.pad_token_id or 0)
        input_names = [name for name in self.tokenizer.model_input_names if name in inputs]
        tensors = {name: torch.from_numpy(inputs[name]).to(self.device) for name in input_names}
        return np.asarray(reading.padded(self.model, tensors).float().numpy(force=True))


def positions_of(config: Any) -> int:
    """How many tokens a model reads."""
    positions = int(getattr(config, "max_position_embeddings", None) or 512)
    return positions - config.pad_token_id - 1 if config.model_type in PADDED_POSITIONS else positions
