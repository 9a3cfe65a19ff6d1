"""A training run: its loop, its log, its saved state, and its best checkpoint on dev."""

from __future__ import annotations

import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification

from mpir.errors import MpirError
from mpir.files.lock import exclusive
from mpir.lab.train.checkpointer import Checkpointer, RunLog
from mpir.lab.train.exits import restore_exits
from mpir.lab.train.negative_sampler import NegativeSampler, SampledNegatives
from mpir.lab.train.optimisation import Optimisation
from mpir.lab.train.progress import training_progress
from mpir.lab.train.run_state import Counters, RandomState, RunIdentity, RunState
from mpir.lab.train.settings import TrainingSettings
from mpir.models.loading.pretrained import checkpoint_errors, load_pretrained

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
log = logging.getLogger(__name__)


class TrainingRun(ABC):
    """Trains a model step by step; resumes from its own folder.

    A subclass loads the model, then calls `begin`. `counters` record the progress, and `checkpointer` saves the state
    and the best checkpoint. `sampler` samples negatives, and `f1` has the last F1 on dev of perspectives; both may be
    missing.
    """

    units: ClassVar[str] = "batches"
    settings: TrainingSettings
    device: torch.device
    tokenizer: Any
    model: Any
    sampler: NegativeSampler | None = None
    f1: Mapping[str, float] = {}

    def begin(self, folder: str | Path, total: int) -> None:
        """Prepare a run of `total` steps in a folder."""
        self.folder, self.total, self.counters = Path(folder), total, Counters()
        self.optimisation = Optimisation(
            self.model, self.settings, device=self.device, batches=total, falls=lambda: self.counters.falls
        )
        self.checkpointer, self.log = Checkpointer(self.folder), RunLog(self.folder)
        # A saved state lacks accumulated gradients, so it is saved only after an optimiser step.
        accumulated = self.settings.gradient_accumulation_steps
        self.save_every = math.ceil(self.settings.save_every / accumulated) * accumulated

    @property
    @abstractmethod
    def identity(self) -> RunIdentity:
        """The identity of the run, which alone may resume its state."""

    @abstractmethod
    def evaluate(self) -> dict[str, float]:
        """Return the dev figure of each perspective."""

    @abstractmethod
    def learn(self, step: int) -> tuple[torch.Tensor, dict[str, Any]]:
        """Add the gradients of a step's loss to the model's; return the loss, and facts for the log."""

    def run(self, *, progress: bool = False) -> Path:
        """Train to the end, and return the folder of the best checkpoint on dev.

        The best is the one with the highest mean of the dev figures. Training stops early once `settings.patience`
        consecutive evaluations on dev have found no better one.

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
        return self.checkpointer.best

    def load(self, checkpoint: str | Path) -> None:
        """Load the weights of a checkpoint of this run."""
        trained = load_pretrained(AutoModelForSequenceClassification, checkpoint, dtype=torch.float32)
        restore_exits(trained, checkpoint)
        with checkpoint_errors(checkpoint):
            self.model.load_state_dict(trained.state_dict())

    def autocast(self) -> torch.autocast:
        """A context in which matrices are multiplied in the run's precision."""
        precision = self.settings.precision
        return torch.autocast(self.device.type, AUTOCAST[precision], enabled=precision != "fp32")

    def scaled(self, loss: torch.Tensor) -> torch.Tensor:
        """The present step's loss for gradients, as `Optimisation.scaled`."""
        return self.optimisation.scaled(loss, self.counters.step)

    def _train(self, *, progress: bool) -> None:
        counters = self.counters
        bar = training_progress(total=self.total, initial=counters.step, units=self.units, is_shown=progress)
        while counters.step < self.total and counters.stale < self.settings.patience:
            bar.set_postfix(loss=f"{self.train_step():.3f}", best=f"{counters.best:.4f}")
            counters.step += 1
            bar.update()
            last = counters.step == self.total
            if last or counters.step % self.settings.evaluate_every == 0:
                self._keep_best()
            if last or counters.step % self.save_every == 0:
                self.checkpointer.save(self._state())

    def train_step(self) -> float:
        """Train on the current step's batch, and return its loss."""
        step, started = self.counters.step, time.perf_counter()
        self.model.train()
        loss, facts = self.learn(step)
        self._check_finite(loss)
        self.optimisation.step(step)
        seconds = round(time.perf_counter() - started, 3)
        self.log.write(step=step, loss=loss.item(), seconds=seconds, **facts)
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

    def _keep_best(self) -> None:
        """Evaluate on dev, and keep the checkpoint if it is the best so far."""
        figures = self.evaluate()
        mean = float(np.mean(list(figures.values())))
        self.log.write(step=self.counters.step, dev=figures, mean=mean, **({"f1": self.f1} if self.f1 else {}))
        log.info("step %d: %s", self.counters.step, figures)
        if self.counters.record(mean, self.settings.quarter_after):
            self.checkpointer.save_best(self.model, self.tokenizer)

    def _state(self) -> RunState:
        return RunState(
            run=self.identity,
            counters=self.counters,
            negatives=self.sampler.state() if self.sampler else SampledNegatives(0, [], 0),
            model=self.model.state_dict(),
            optimisation=self.optimisation.state(),
            random=RandomState.current(self.device),
        )

    def _resume(self) -> None:
        if self.checkpointer.resume(self.identity, self.restore):
            path, step = self.checkpointer.path, self.counters.step
            log.info("%s: resuming after %d of %d %s", path, step, self.total, self.units)

    def restore(self, state: RunState) -> None:
        """Continue from a saved state."""
        self.counters = state.counters
        self.model.load_state_dict(state.model)
        self.optimisation.restore(state.optimisation)
        state.random.restore(self.device)
