"""The model during training: its outputs for pairs, and its vectors of single texts.

A perspective is an output of the encoder for question and sentence together, or the product of their separate vectors
(Reimers & Gurevych, "Sentence-BERT", 2019).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from mpir.errors import InputError
from mpir.lab.train.batch_layout import ByToken, ByVector, Compared
from mpir.lab.train.examples import Example
from mpir.lab.train.mixture import Task, allot, outputs_needed
from mpir.lab.train.pretrained import load_encoder, width_of
from mpir.lab.train.run import TrainingRun
from mpir.lab.train.settings import TrainingSettings
from mpir.models.bert.unpadded import can_unpad, unpad
from mpir.models.devices.device import choose_budget, choose_device
from mpir.models.devices.output_heads import OUTPUTS, PooledVector, Reading
from mpir.models.late_interaction.interaction import Interaction, maxsim
from mpir.models.late_interaction.late import LateInteraction
from mpir.models.late_interaction.token_vectors import token_reading
from mpir.models.loading.checkpoint_info import positions_of
from mpir.models.loading.pretrained import checkpoint_errors
from mpir.models.tokens.tokenise import TokenSequence, batches, pad
from mpir.models.vectors.embedding import Pooling

TOKEN_ARRAYS = ("input_ids", "token_type_ids")
log = logging.getLogger(__name__)


class TrainedModel(TrainingRun):
    """One trainable encoder for all tasks, which reads question and sentence together or separately.

    `cut` has the questions that late interaction truncated.
    """

    def __init__(self, settings: TrainingSettings, tasks: list[Task], device: str) -> None:
        """Load the checkpoint with one output per task that is not a bi-encoder's: its own head or a fresh one.

        Raises:
            ArtefactError: the checkpoint cannot be loaded.
            InputError: no such device, or fp16 on one that cannot train with it.
        """
        self.device = choose_device(device)
        settings = settings.on(self.device)
        self.settings, self.tasks = settings, allot(tasks)
        for task in tasks if settings.mini_batch_size else ():
            vector_pooling(task)
        if settings.precision == "fp16" and self.device.type != "cuda":
            raise InputError(f"precision fp16 cannot be trained with on {self.device}; choose bf16 or fp32, or a GPU.")
        torch.manual_seed(settings.seed)
        together = [index for index, task in enumerate(tasks) if not task.is_bi_encoder]
        self.output_of = {index: output for output, index in enumerate(together)}
        outputs = outputs_needed(self.tasks, lambda: width_of(settings.checkpoint))
        self.tokenizer, self.model = load_encoder(settings.checkpoint, outputs)
        self.model.to(self.device)
        self.interaction: Interaction = getattr(self.model, "interaction", maxsim)
        self.unpadded = unpad(self.model, trains=True) if can_unpad(self.model) else None
        with checkpoint_errors(settings.checkpoint):
            self.longest = self._longest()
        self.tokens_per_chunk = choose_budget(None, [self.device], self.longest)
        self.cut: set[str] = set()

    @torch.inference_mode()
    def outputs(self, rows: list[Example], tasks: Sequence[int]) -> np.ndarray[Any, Any]:
        """Return the current model's values (N, tasks) of rows: raw outputs, or a bi-encoder's products."""
        self.model.eval()
        chunks = [rows[start : start + 1024] for start in range(0, len(rows), 1024)]
        return np.concatenate([self._outputs(chunk, tasks).numpy(force=True) for chunk in chunks])

    def _outputs(self, rows: list[Example], tasks: Sequence[int]) -> torch.Tensor:
        """Return raw outputs or products (N, tasks), with at most one pass for each way of reading."""
        by_task: dict[int, torch.Tensor] = {}
        if together := [task for task in tasks if task in self.output_of]:
            logits = self._read(OUTPUTS, [row.question for row in rows], [row.sentence for row in rows])
            by_task |= {task: logits[:, self.output_of[task]] for task in together}
        two_tower = [task for task in tasks if task not in self.output_of]
        for pooling in {self.tasks[task].pooling for task in two_tower}:
            product = self._compared(rows, pooling).pairs()
            by_task |= {task: product for task in two_tower if self.tasks[task].pooling == pooling}
        return torch.stack([by_task[task] for task in tasks], dim=1)

    def _compared(self, rows: list[Example], pooling: Pooling | LateInteraction) -> Compared:
        """Encode the texts of the rows separately."""
        if not isinstance(pooling, LateInteraction):
            return ByVector(*self._vectors_of(rows, pooling))
        queries = self._token_vectors([row.question for row in rows], pooling, is_query=True)
        texts = self._token_vectors([row.sentence for row in rows], pooling, is_query=False)
        return ByToken(queries, texts, self.interaction)

    def _token_vectors(self, texts: list[str], late: LateInteraction, *, is_query: bool) -> list[torch.Tensor]:
        """Return token vectors (T, W) of N texts, distinct ones once; long texts are truncated and counted."""
        distinct, vectors_of = list(dict.fromkeys(texts)), dict[str, torch.Tensor]()
        tokens = late.read(self.tokenizer, distinct, is_query=is_query, max_length=self.longest)
        first = np.searchsorted(tokens.pair_of, np.arange(len(distinct)))
        if is_query:
            self.cut.update(distinct[i] for i in np.flatnonzero(np.bincount(tokens.pair_of) > 1))
        reading = token_reading(late, self.tokenizer, is_query=is_query)
        for chunk in batches(tokens.lengths[first], self.tokens_per_chunk):
            sequences = tokens.sequences(first[chunk])
            with self.autocast():
                flat = self.read(reading, sequences)
            vector_lists = torch.split(flat.float(), [len(sequence.ids) for sequence in sequences])
            for text_number, sequence, vectors in zip(chunk.tolist(), sequences, vector_lists, strict=True):
                counts = torch.from_numpy(late.counting(self.tokenizer, sequence.ids, is_query=is_query))
                vectors_of[distinct[text_number]] = vectors[counts.to(vectors.device)]
        return [vectors_of[text] for text in texts]

    def _vectors_of(self, rows: list[Example], pooling: Pooling) -> tuple[torch.Tensor, torch.Tensor]:
        """Return vectors (N, W) of the rows' questions and sentences, with each distinct text encoded once."""
        texts, text_numbers = distinct(rows)
        vectors = self._read(PooledVector(pooling), texts)
        left, right = vectors[text_numbers.to(vectors.device)].chunk(2)
        return left, right

    def _closeness(
        self, queries: list[str], texts: list[str], pooling: Pooling | LateInteraction
    ) -> np.ndarray[Any, Any]:
        """Return scores (N, T) of every question with every text."""
        if isinstance(pooling, LateInteraction):
            right = self._token_vectors(texts, pooling, is_query=False)
            left = self._token_vectors(queries, pooling, is_query=True)
            return ByToken(left, right, self.interaction).all(left, range(len(right))).numpy(force=True)
        vectors = self._read(PooledVector(pooling), queries + texts)
        return (vectors[: len(queries)] @ vectors[len(queries) :].T).numpy(force=True)

    @torch.inference_mode()
    def _search(self, queries: list[str], texts: list[str], pooling: Pooling | LateInteraction) -> np.ndarray[Any, Any]:
        """Return the current model's scores (Q, T) of every question with every text."""
        self.model.eval()
        chunks = [texts[start : start + 1024] for start in range(0, len(texts), 1024)]
        return np.concatenate([self._closeness(queries, chunk, pooling) for chunk in chunks], axis=1)

    def _read(self, reading: Reading, *texts: list[str]) -> torch.Tensor:
        """Return a pass's outputs of N texts or pairs, in chunks of similar length to reduce padding."""
        tokens = self._tokens(*texts)
        chunks = list(batches(np.array([len(sequence.ids) for sequence in tokens]), self.tokens_per_chunk))
        with self.autocast():
            values = torch.cat([self.read(reading, [tokens[i] for i in chunk]).float() for chunk in chunks])
        return values[torch.from_numpy(np.argsort(np.concatenate(chunks))).to(values.device)]

    def _tokens(self, *texts: list[str]) -> list[TokenSequence]:
        """Tokenise N texts or pairs, truncated at the maximum length of training."""
        encoding = self.tokenizer(
            *texts, truncation="longest_first", max_length=self.longest, return_token_type_ids=True
        )
        return [
            TokenSequence(*(np.array(array, np.int32) for array in arrays))
            for arrays in zip(*map(encoding.get, TOKEN_ARRAYS), strict=True)
        ]

    def read(self, reading: Reading, sequences: Sequence[TokenSequence]) -> torch.Tensor:
        """Return the rows (n, …) of a chunk, without padding if the model supports it."""
        if self.unpadded is not None:
            return reading.unpadded(self.unpadded, sequences)
        return reading.padded(self.model, self._padded(sequences))

    def _padded(self, sequences: Sequence[TokenSequence]) -> dict[str, torch.Tensor]:
        inputs = pad(sequences, self.tokenizer.pad_token_id or 0)
        input_names = [name for name in self.tokenizer.model_input_names if name in inputs]
        return {name: torch.from_numpy(inputs[name]).to(self.device) for name in input_names}

    def _longest(self) -> int:
        """Return the maximum tokens of a pair: `settings.max_length`, or the model's number of positions if lower."""
        positions = positions_of(self.model.config)
        if positions < self.settings.max_length:
            log.warning(
                "%s reads at most %d tokens, so longer pairs are truncated there, and not at max_length %d",
                *(self.settings.checkpoint, positions, self.settings.max_length),
            )
        return int(min(positions, self.settings.max_length))


def distinct(rows: list[Example]) -> tuple[list[str], torch.Tensor]:
    """Return the distinct texts of N rows, and the number (2 N,) of each question, then of each sentence."""
    texts = [row.question for row in rows] + [row.sentence for row in rows]
    number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return list(number), torch.tensor([number[text] for text in texts])


def vector_pooling(task: Task) -> Pooling:
    """Return the pooling of a bi-encoder. Raises InputError for a task of late interaction."""
    if isinstance(task.pooling, LateInteraction):
        raise InputError(f"{task.name}: mini_batch_size is for one vector of each text; leave it out with late.")
    return task.pooling
