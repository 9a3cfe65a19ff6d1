"""Train one encoder for all perspectives of a mixture, with batches in a fixed order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mpir.core.checksum import fingerprint
from mpir.lab.train.batch_layout import ByVector, Compared, known_positives
from mpir.lab.train.batch_loss import batch_loss
from mpir.lab.train.examples import Example
from mpir.lab.train.losses import f1_score, pair_figures
from mpir.lab.train.mixture import Task
from mpir.lab.train.model import TrainedModel, distinct, vector_pooling
from mpir.lab.train.negative_sampler import NegativeSampler
from mpir.lab.train.run_state import RandomState, RunIdentity, RunState, start_of
from mpir.lab.train.schedule import Batch, schedule
from mpir.lab.train.settings import TrainingSettings
from mpir.models.devices.output_heads import PooledVector
from mpir.models.late_interaction.late import LateInteraction
from mpir.models.tokens.tokenise import TokenSequence
from mpir.models.vectors.embedding import Pooling
from mpir.types import Float

__all__ = ["FineTuner", "TrainingSettings"]

log = logging.getLogger(__name__)


class FineTuner(TrainedModel):
    """Fine-tunes one checkpoint for all perspectives of a mixture; resumes from its own folder.

    `counters` record the progress, `f1` the last F1 on dev of each perspective of probabilities, and `pairs` the order
    of the last batch's pairs. `sampler` samples negatives for tasks with sampling, and `checkpointer` saves the state
    and the best checkpoint.
    """

    sampler: NegativeSampler

    def __init__(
        self, settings: TrainingSettings, tasks: list[Task], folder: str | Path, *, device: str = "auto"
    ) -> None:
        """Load the checkpoint, and schedule the batches.

        Raises:
            ArtefactError: the checkpoint cannot be loaded.
            InputError: no such device, or fp16 on one that cannot train with it.
        """
        super().__init__(settings, tasks, device)
        settings = self.settings
        self._start = start_of(settings)
        self.known = {
            index: known_positives(row for groups, _ in task.train for group in groups for row in group)
            for index, task in enumerate(tasks)
            if task.sampling or any(loss.in_batch for loss in task.losses)
        }
        self.batches = schedule(tasks, settings.batch_size, settings.seed, settings.max_steps)
        self.f1: dict[str, float] = {}
        self.pairs: dict[str, float] = {}
        self.sampler = NegativeSampler(self.tasks, self.known, settings.seed, self._closeness_in_eval_mode)
        self.begin(folder, len(self.batches))

    def run(self, *, progress: bool = False) -> Path:
        """Train as any run, and warn of questions that were truncated."""
        best = super().run(progress=progress)
        if self.cut:
            log.warning("%d questions exceed the token limit of late interaction, and were truncated", len(self.cut))
        return best

    @property
    def rows_seen(self) -> list[int]:
        """The number of rows of each task in the steps so far."""
        rows = self.batches.rows_seen(self.counters.step)
        return [rows[task] for task in range(len(self.tasks))]

    def evaluate(self) -> dict[str, float]:
        """Return each perspective's dev figure: the metric of its first loss on dev rows, or nDCG@10 of retrieval."""
        return {task.name: self._figure(index, task) for index, task in enumerate(self.tasks)}

    def _figure(self, index: int, task: Task) -> float:
        if task.retrieval is None:
            values = self.outputs(task.dev, [index])[:, 0]
            if task.losses[0].scale == "probability":
                self.f1[task.name] = round(f1_score(task.dev, values), 4)
            return task.losses[0].metric(task.dev, values)
        return task.retrieval.measure(lambda queries, texts: self._search(queries, texts, task.pooling))

    def learn(self, step: int) -> tuple[torch.Tensor, dict[str, Any]]:
        """See `TrainingRun`; the facts are the task, the number of rows, and the order of pairs."""
        batch, self.pairs = self.batches[step], {}
        loss = self._backward(batch)
        skipped = {"skipped": self.sampler.skipped} if batch.pool else {}
        return loss, {"task": self.tasks[batch.task].name, "rows": len(batch.rows), **self.pairs, **skipped}

    def _backward(self, batch: Batch) -> torch.Tensor:
        """Add the gradients of a batch's loss to the model's, and return the loss."""
        task, rows = self.tasks[batch.task], self.sampler.rows(batch, self.counters.step)
        if not rows:
            return torch.zeros((), device=self.device)
        if task.is_bi_encoder and self.settings.mini_batch_size:
            return self._backward_in_parts(batch.task, rows, self.settings.mini_batch_size)
        loss = self._loss(batch.task, rows, self._compared(rows, task.pooling) if task.is_bi_encoder else None)
        self.scaled(loss).backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def _backward_in_parts(self, index: int, rows: list[Example], size: int) -> torch.Tensor:
        """Do the same as `_backward` for a bi-encoder's batch, in chunks of `size` texts to save memory."""
        pooling = vector_pooling(self.tasks[index])
        texts, text_numbers = distinct(rows)
        tokens = self._tokens(texts)
        order = np.argsort([len(sequence.ids) for sequence in tokens], kind="stable")
        chunks = [[tokens[i] for i in order[start : start + size]] for start in range(0, len(order), size)]
        where = torch.from_numpy(np.argsort(order))[text_numbers].to(self.device)

        def read(chunk: list[TokenSequence]) -> torch.Tensor:
            """Return the vectors of a chunk."""
            with self.autocast():
                return self.read(PooledVector(pooling), chunk).float()

        def loss(vectors: torch.Tensor) -> torch.Tensor:
            """Return the loss of all distinct vectors."""
            left, right = vectors[where].chunk(2)
            return self._loss(index, rows, ByVector(left, right))

        return backward_in_parts([partial(read, chunk) for chunk in chunks], loss, self.scaled, self.device)

    def _loss(self, index: int, rows: list[Example], compared: Compared | None) -> torch.Tensor:
        """Return the sum of a task's losses on rows, from separately encoded texts or from outputs for pairs."""
        scores = self._outputs(rows, [index])[:, 0] if compared is None else compared.pairs()
        labels = np.array([row.label for row in rows])
        self.pairs = pair_figures([row.group for row in rows], labels, scores.detach().float().cpu().numpy())
        return batch_loss(self.tasks[index], rows, scores, compared, self.known.get(index, {}))

    @torch.no_grad()
    def _closeness_in_eval_mode(
        self, queries: list[str], texts: list[str], pooling: Pooling | LateInteraction
    ) -> Float:
        """Return the scores (N, T) of every question with every text in evaluation mode; then set training mode."""
        self.model.eval()
        closeness = self._closeness(queries, texts, pooling)
        self.model.train()
        return closeness

    @cached_property
    def identity(self) -> RunIdentity:
        """See `TrainingRun`."""
        settings, names = asdict(self.settings), [task.name for task in self.tasks]
        return RunIdentity(
            settings=settings,
            schedule=fingerprint([settings, len(self.batches), names]),
            start=self._start,
            data=fingerprint([[_learned(task) for task in self.tasks], *self.batches.identity]),
            dev=fingerprint([[asdict(row) for row in task.dev] for task in self.tasks]),
        )

    def restore(self, state: RunState) -> None:
        """See `TrainingRun`; inside a pool of pairs, with its negatives."""
        super().restore(state)
        self.sampler.restore(state.negatives, self.batches)


def _learned(task: Task) -> list[str]:
    """What a task's loss depends on besides its rows."""
    return [*map(str, task.losses), str(task.pooling), str(task.sampling)]


Pass = Callable[[], Tensor]


def backward_in_parts(
    passes: Sequence[Pass], loss: Callable[[Tensor], Tensor], scaled: Callable[[Tensor], Tensor], device: torch.device
) -> Tensor:
    """Add a loss's gradients to the parameters that its vectors depend on, and return the loss.

    Gao et al., "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup" (2021), known as GradCache:
    one pass without gradients computes all vectors, the loss gives the gradient of each vector, and a second pass in
    chunks, with the same dropout, propagates these to the model. So a batch may be larger than memory.

    Args:
        passes: functions that each compute the vectors (n, W) of some texts; they run twice with the same random
        numbers. loss: the loss of all vectors (N, W), in the order of the passes. scaled: maps the loss to the value
        whose gradients are taken. device: the device whose random numbers the passes use.
    """
    states, outputs = [], []
    with torch.no_grad():
        for forward in passes:
            states.append(RandomState.current(device))
            outputs.append(forward())
    vectors = torch.cat(outputs).requires_grad_()
    value = loss(vectors)
    (gradients,) = torch.autograd.grad(scaled(value), vectors)
    shares = torch.split(gradients, [len(output) for output in outputs])
    for forward, state, gradient in zip(passes, states, shares, strict=True):
        state.restore(device)
        forward().backward(gradient)  # type: ignore[no-untyped-call]
    return value.detach()
