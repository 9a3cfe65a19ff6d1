"""Train one encoder for all perspectives of a mixture, with batches in a fixed order."""

from __future__ import annotations

import logging
import math
import time
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import torch

from mpir.errors import MpirError
from mpir.files.lock import exclusive
from mpir.lab.train.batch_layout import known_positives
from mpir.lab.train.batch_loss import batch_loss
from mpir.lab.train.checkpointer import Checkpointer
from mpir.lab.train.examples import Example
from mpir.lab.train.gradcache import backward_in_parts
from mpir.lab.train.metrics import f1_score, pair_figures
from mpir.lab.train.mixture import Task
from mpir.lab.train.model import TrainedModel, distinct, vector_pooling
from mpir.lab.train.negative_sampler import NegativeSampler
from mpir.lab.train.optimisation import Optimisation
from mpir.lab.train.progress import training_progress
from mpir.lab.train.random_state import RandomState
from mpir.lab.train.run_identity import RunIdentity, identify, start_of
from mpir.lab.train.run_log import RunLog
from mpir.lab.train.run_state import Counters, RunState
from mpir.lab.train.schedule import Batch, schedule
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.two_tower import ByVector, Compared
from mpir.models.late import LateInteraction
from mpir.models.pooling import Pooling
from mpir.models.tokenise import TokenSequence
from mpir.types import Float

__all__ = ["FineTuner", "TrainingSettings"]

log = logging.getLogger(__name__)


class FineTuner(TrainedModel):
    """Fine-tunes one checkpoint for all perspectives of a mixture; resumes from its own folder.

    `counters` record the progress, `f1` the last F1 on dev of each perspective of probabilities, and `pairs` the order
    of the last batch's pairs. `sampler` samples negatives for tasks with sampling, and `checkpointer` saves the state
    and the best checkpoint.
    """

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
        self.folder = Path(folder)
        self._start = start_of(settings)
        self.known = {
            index: known_positives(row for groups, _ in task.train for group in groups for row in group)
            for index, task in enumerate(tasks)
            if task.sampling or any(loss.in_batch for loss in task.losses)
        }
        self.batches = schedule(tasks, settings.batch_size, settings.seed, settings.max_steps)
        self.counters = Counters()
        self.f1: dict[str, float] = {}
        self.pairs: dict[str, float] = {}
        self.sampler = NegativeSampler(self.tasks, self.known, settings.seed, self._closeness_in_eval_mode)
        self.optimisation = Optimisation(
            self.model,
            settings,
            device=self.device,
            batches=len(self.batches),
            falls=lambda: self.counters.falls,
        )
        self.checkpointer, self.log = Checkpointer(self.folder), RunLog(self.folder)
        # A saved state lacks accumulated gradients, so it is saved only after an optimiser step.
        accumulated = settings.gradient_accumulation_steps
        self.save_every = math.ceil(settings.save_every / accumulated) * accumulated

    def run(self, *, progress: bool = False) -> Path:
        """Train to the end, and return the folder of the best checkpoint on dev.

        The best is the one with the highest mean of the perspectives' dev figures. Training stops early once
        `settings.patience` consecutive evaluations on dev have found no better one.

        Raises:
            ArtefactError: the folder has a run of other settings or data, or one without its best checkpoint.
            OutputError: the folder cannot be written, or another process is training there.
            MpirError: the loss is no longer finite; the best checkpoint so far is kept.
        """
        with exclusive(self.folder / ".training.lock", "training there"):
            self.log.check_replaceable()
            self._resume()
            self.log.drop_incomplete_line()
            self._train(progress=progress)
        if self.cut:
            log.warning("%d questions exceed the token limit of late interaction, and were truncated", len(self.cut))
        return self.checkpointer.best

    def _train(self, *, progress: bool) -> None:
        counters, total = self.counters, len(self.batches)
        bar = training_progress(total=total, initial=counters.step, unit="batch", is_shown=progress)
        while counters.step < total and counters.stale < self.settings.patience:
            value = self._train_step(self.batches[counters.step])
            counters.step += 1
            bar.set_postfix(loss=f"{value:.3f}", best=f"{counters.best:.4f}")
            bar.update()
            last = counters.step == total
            if last or counters.step % self.settings.evaluate_every == 0:
                self._keep_best()
            if last or counters.step % self.save_every == 0:
                self.checkpointer.save(self._state())

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

    def _keep_best(self) -> None:
        """Evaluate on dev, and keep the checkpoint if it is the best so far."""
        figures = self.evaluate()
        mean = float(np.mean(list(figures.values())))
        self.log.write(step=self.counters.step, dev=figures, mean=mean, **({"f1": self.f1} if self.f1 else {}))
        log.info("step %d: %s", self.counters.step, figures)
        if self.counters.record(mean, self.settings.quarter_after):
            self.checkpointer.save_best(self.model, self.tokenizer)

    def _train_step(self, batch: Batch) -> float:
        """Train on the current step's batch, and return its loss."""
        self.model.train()
        step, started, self.pairs = self.counters.step, time.perf_counter(), {}
        loss = self._backward(batch)
        self._check_finite(loss)
        self.optimisation.step(step)
        seconds = round(time.perf_counter() - started, 3)
        name, rows = self.tasks[batch.task].name, len(batch.rows)
        skipped = {"skipped": self.sampler.skipped} if batch.pool else {}
        self.log.write(step=step, task=name, loss=loss.item(), rows=rows, seconds=seconds, **self.pairs, **skipped)
        return loss.item()

    def _check_finite(self, loss: torch.Tensor) -> None:
        if torch.isfinite(loss):
            return
        best = self.checkpointer.best
        checkpoint_text = f"the last good checkpoint is in {best}" if best.is_dir() else "no checkpoint was kept yet"
        raise MpirError(
            f"batch {self.counters.step}: the loss is {loss.item()}; {checkpoint_text}; "
            "lower the learning rate or use fp32, and train into another folder."
        )

    def _backward(self, batch: Batch) -> torch.Tensor:
        """Add the gradients of a batch's loss to the model's, and return the loss."""
        task, rows = self.tasks[batch.task], self.sampler.rows(batch, self.counters.step)
        if not rows:
            return torch.zeros((), device=self.device)
        if task.is_bi_encoder and self.settings.mini_batch_size:
            return self._backward_in_parts(batch.task, rows, self.settings.mini_batch_size)
        loss = self._loss(batch.task, rows, self._compared(rows, task.pooling) if task.is_bi_encoder else None)
        self._scaled(loss).backward()  # type: ignore[no-untyped-call]
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
            with self._autocast():
                return self._vectors(chunk, pooling).float()

        def loss(vectors: torch.Tensor) -> torch.Tensor:
            """Return the loss of all distinct vectors."""
            left, right = vectors[where].chunk(2)
            return self._loss(index, rows, ByVector(left, right))

        return backward_in_parts([partial(read, chunk) for chunk in chunks], loss, self._scaled, self.device)

    def _scaled(self, loss: torch.Tensor) -> torch.Tensor:
        return self.optimisation.scaled(loss, self.counters.step)

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
    def _identity(self) -> RunIdentity:
        return identify(self.settings, self.tasks, self.batches, self._start)

    def _state(self) -> RunState:
        return RunState(
            run=self._identity,
            counters=self.counters,
            negatives=self.sampler.state(),
            model=self.model.state_dict(),
            optimisation=self.optimisation.state(),
            random=RandomState.current(self.device),
        )

    def _resume(self) -> None:
        if self.checkpointer.resume(self._identity, self._restore):
            path, step, total = self.checkpointer.path, self.counters.step, len(self.batches)
            log.info("%s: resuming after %d of %d batches", path, step, total)

    def _restore(self, state: RunState) -> None:
        self.counters = state.counters
        self.sampler.restore(state.negatives, self.batches)
        self.model.load_state_dict(state.model)
        self.optimisation.restore(state.optimisation)
        state.random.restore(self.device)
