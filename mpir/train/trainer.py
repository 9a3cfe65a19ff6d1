"""The training loop: one encoder for all perspectives, batches of the mixture in a fixed order."""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from mpir.errors import ArtefactError, MpirError, OutputError
from mpir.io.checksum import add_checksum, verify_bytes, write_bytes_with_checksum
from mpir.io.files import write_file_list
from mpir.io.folder_format import CHECKPOINT
from mpir.io.hash import fingerprint
from mpir.io.lock import exclusive
from mpir.io.read import read_lines
from mpir.io.write import atomic_folder, naming_output
from mpir.models.identity import identity_of
from mpir.models.late import LateInteraction
from mpir.models.pooling import MEAN
from mpir.models.tokenise import TokenSequence
from mpir.train.batch_layout import batch_places, known_positives, own_places, same
from mpir.train.examples import Example
from mpir.train.gradcache import backward_in_parts
from mpir.train.lr_schedule import make_rate
from mpir.train.mixture import Task
from mpir.train.model import TrainedModel, distinct, vector_pooling
from mpir.train.sampling import allowed, choose, triplets
from mpir.train.schedule import Batch, schedule
from mpir.train.settings import TrainingSettings
from mpir.train.two_tower import ByVector, Compared

__all__ = ["FineTuner", "TrainingSettings"]

HEADS = "classifier."
"""How the names begin of what turns an encoder's state into outputs."""
log = logging.getLogger(__name__)


class FineTuner(TrainedModel):
    """Fine-tunes one checkpoint for all perspectives of a mixture; resumes from its own folder."""

    def __init__(
        self, settings: TrainingSettings, tasks: list[Task], folder: str | Path, *, device: str = "auto"
    ) -> None:
        """Load the checkpoint, and fix the order of the batches.

        Raises:
            ArtefactError: the checkpoint cannot be loaded.
            InputError: no such device, or fp16 on one that cannot train with it.
        """
        super().__init__(settings, tasks, device)
        self.folder = Path(folder)
        self._start = fingerprint(identity_of(settings.checkpoint, None, settings.max_length, settings.precision))
        self.known = {
            index: known_positives(row for groups, _ in task.train for group in groups for row in group)
            for index, task in enumerate(tasks)
            if task.sampling or any(loss.in_batch for loss in task.losses)
        }
        self.skipped = 0
        self._pool: list[Example] = []
        self._pool_step = 0
        self._negatives: dict[int, str | None] = {}
        self.batches = schedule(tasks, settings.batch_size, settings.seed, settings.max_steps)
        steps = math.ceil(len(self.batches) / settings.gradient_accumulation_steps)
        self.optimiser = torch.optim.AdamW(
            self._parameter_groups(), lr=settings.learning_rate, eps=settings.adam_epsilon, fused=True
        )
        self.falls = 0
        self.rate = make_rate(self.optimiser, settings, steps, lambda: self.falls)
        # fp16 gradients may underflow, so the loss is scaled up for them; elsewhere the scaler does nothing.
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=settings.precision == "fp16")
        # A state holds no half-summed gradients, so it is saved after a step of the optimiser only.
        self.save_every = (
            math.ceil(settings.save_every / settings.gradient_accumulation_steps) * settings.gradient_accumulation_steps
        )
        self.best, self.step, self.stale = -math.inf, 0, 0

    def run(self, *, progress: bool = False) -> Path:
        """Train to the end and return the folder of the checkpoint that was best on dev.

        The best is the one with the highest mean of the perspectives' dev figures. Training stops early once
        `settings.patience` looks at dev in a row have brought no better one.

        Raises:
            ArtefactError: the folder holds a run of other settings or data, or one whose best checkpoint is gone.
            OutputError: the folder cannot be written, or another process is training there.
            MpirError: the loss is no longer finite; the best checkpoint so far is kept.
        """
        with exclusive(self.folder / ".training.lock", "training there"):
            self._check_own()
            self._resume()
            self._mend_log()
            self._train(progress=progress)
        if self.cut:
            log.warning("%d questions are longer than a model of late interaction reads, and were cut", len(self.cut))
        return self.folder / "best"

    def _train(self, *, progress: bool) -> None:
        bar = tqdm(total=len(self.batches), initial=self.step, desc="training", unit="batch", disable=not progress)
        while self.step < len(self.batches) and self.stale < self.settings.patience:
            value = self._train_step(self.batches[self.step])
            self.step += 1
            bar.update()
            bar.set_postfix(loss=f"{value:.3f}", best=f"{self.best:.4f}")
            last = self.step == len(self.batches)
            if last or self.step % self.settings.evaluate_every == 0:
                self._keep_best()
            if last or self.step % self.save_every == 0:
                self._save_state()

    @property
    def rows_seen(self) -> list[int]:
        """How many rows of each task the steps so far were made from."""
        rows = self.batches.rows_seen(self.step)
        return [rows[task] for task in range(len(self.tasks))]

    def evaluate(self) -> dict[str, float]:
        """The dev figure of every perspective: that of its first loss on dev rows, or nDCG@10 of a search."""
        return {task.name: self._figure(index, task) for index, task in enumerate(self.tasks)}

    def _figure(self, index: int, task: Task) -> float:
        if task.retrieval is None:
            return task.losses[0].metric(task.dev, self.outputs(task.dev, [index])[:, 0])
        return task.retrieval.measure(lambda questions, texts: self._search(questions, texts, task.pooling))

    def _train_step(self, batch: Batch) -> float:
        self.model.train()
        started = time.perf_counter()
        loss = self._backward(batch)
        if not torch.isfinite(loss):
            best = self.folder / "best"
            checkpoint_text = (
                f"the last good checkpoint is in {best}" if best.is_dir() else "no checkpoint was kept yet"
            )
            raise MpirError(
                f"batch {self.step}: the loss is {loss.item()}; {checkpoint_text}; "
                "lower the learning rate or use fp32, and train into another folder."
            )
        if (self.step + 1) % self.settings.gradient_accumulation_steps == 0 or self.step + 1 == len(self.batches):
            if any(parameter.grad is not None for parameter in self.model.parameters()):  # else all pairs were skipped
                self.scaler.unscale_(self.optimiser)
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.scaler.step(self.optimiser)
                self.scaler.update()
            self.rate.step()
            self.optimiser.zero_grad()
        seconds = round(time.perf_counter() - started, 3)
        name, rows = self.tasks[batch.task].name, len(batch.rows)
        skipped = {"skipped": self.skipped} if batch.pool else {}
        self._log(step=self.step, task=name, loss=loss.item(), rows=rows, seconds=seconds, **skipped)
        return loss.item()

    def _backward(self, batch: Batch) -> torch.Tensor:
        """Add the gradients of a batch's loss to the model's; the loss."""
        task, rows = self.tasks[batch.task], self._rows(batch)
        if not rows:
            return torch.zeros((), device=self.device)
        if task.is_bi_encoder and self.settings.mini_batch_size:
            return self._backward_in_parts(batch.task, rows, self.settings.mini_batch_size)
        loss = self._loss(batch.task, rows, self._compared(rows, task.pooling) if task.is_bi_encoder else None)
        self._scaled(loss).backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def _backward_in_parts(self, index: int, rows: list[Example], size: int) -> torch.Tensor:
        """`_backward` of a bi-encoder's batch, of whose texts only `size` are trained on at once."""
        pooling = vector_pooling(self.tasks[index])
        texts, text_numbers = distinct(rows)
        tokens = self._tokens(texts)
        order = np.argsort([len(sequence.ids) for sequence in tokens], kind="stable")
        chunks = [[tokens[i] for i in order[start : start + size]] for start in range(0, len(order), size)]
        where = torch.from_numpy(np.argsort(order))[text_numbers].to(self.device)

        def read(chunk: list[TokenSequence]) -> torch.Tensor:
            with self._autocast():
                return self._vectors(chunk, pooling).float()

        def loss(vectors: torch.Tensor) -> torch.Tensor:
            left, right = vectors[where].chunk(2)
            return self._loss(index, rows, ByVector(left, right))

        return backward_in_parts([partial(read, chunk) for chunk in chunks], loss, self._scaled, self.device)

    def _scaled(self, loss: torch.Tensor) -> torch.Tensor:
        """What gradients are of: a batch's share of its step, the last of which may have fewer, scaled up for fp16."""
        together = self.settings.gradient_accumulation_steps
        first = self.step - self.step % together
        scaled: torch.Tensor = self.scaler.scale(loss / min(together, len(self.batches) - first))
        return scaled

    def _loss(self, index: int, rows: list[Example], compared: Compared | None) -> torch.Tensor:
        """The sum of a task's losses on rows, from texts that were read apart, or else from the outputs."""
        task, own_layout = self.tasks[index], own_places(rows)
        values = self._outputs(rows, [index])[:, 0] if compared is None else compared.pairs()
        labels = values.new_tensor([row.label for row in rows])
        teacher = values.new_tensor([0.0 if row.teacher is None else row.teacher for row in rows])
        losses = []
        for loss in task.losses:
            layout = batch_places(rows, self._answers(index, rows)) if loss.in_batch else own_layout
            scores = compared.products(layout) if loss.in_batch and compared is not None else layout.fill(values)
            mask = torch.from_numpy(layout.mask).to(values.device)
            losses.append(loss(scores, layout.fill(teacher if loss.distilled else labels), mask))
        return torch.stack(losses).sum()

    def _answers(self, task: int, rows: list[Example]) -> Mapping[str, set[str]]:
        """What is known to answer each question: by the rows in memory and, of triples, by those of the batch."""
        listed = self.known[task]
        if not self.tasks[task].triples:
            return listed
        batch_positives = known_positives(rows)
        return {
            query: listed.get(query, set()) | batch_positives.get(query, set())
            for query in {same(row.question) for row in rows}
        }

    def _rows(self, batch: Batch) -> list[Example]:
        """A batch's rows or, of one whose negatives are sampled, the triplets; pairs without a negative are skipped."""
        if batch.pool is None:
            return batch.rows
        if batch.pool is not self._pool:
            self._hold(self.step, batch.pool, self._sample(batch.task, batch.pool))
        negatives = [self._negatives[id(pair)] for pair in batch.rows]
        self.skipped += negatives.count(None)
        return triplets(batch.rows, negatives)

    def _hold(self, step: int, pool: list[Example], negatives: list[str | None]) -> None:
        """Keep what was sampled for a pool, from its first batch on, which is that of a step."""
        self._pool_step, self._pool = step, pool
        self._negatives = {id(pair): text for pair, text in zip(pool, negatives, strict=True)}

    @torch.no_grad()
    def _sample(self, task: int, pool: list[Example]) -> list[str | None]:
        """A negative for each pair of a pool, by one pass of the model as it is, in eval mode."""
        texts, sampling = list(dict.fromkeys(pair.sentence for pair in pool)), self.tasks[task].sampling
        may = allowed(pool, texts, self.known[task])
        if sampling is None or sampling.negatives == "random":
            closeness = np.random.default_rng([self.settings.seed, self.step]).random(may.shape)
        else:
            self.model.eval()
            closeness = self._closeness([pair.question for pair in pool], texts, self.tasks[task].pooling)
            self.model.train()
        return [None if number is None else texts[number] for number in choose(closeness, may)]

    def _keep_best(self) -> None:
        figures = self.evaluate()
        mean = float(np.mean(list(figures.values())))
        self._log(step=self.step, dev=figures, mean=mean)
        log.info("step %d: %s", self.step, figures)
        self.stale = 0 if mean > self.best else self.stale + 1
        if self.stale and self.settings.quarter_after and self.stale % self.settings.quarter_after == 0:
            self.falls += 1
        if mean > self.best:
            self.best = mean
            with atomic_folder(self.folder / "best", CHECKPOINT) as temporary:
                self.model.save_pretrained(temporary)
                self.tokenizer.save_pretrained(temporary)
                write_file_list(temporary)

    def _log(self, **values: Any) -> None:
        path = self.folder / "log.jsonl"
        with naming_output(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(path, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(add_checksum(values)) + "\n")

    def _check_own(self) -> None:
        """Raise OutputError for a folder with files that the run would write over and no run has written."""
        if (self.folder / "state.pt").exists():
            return  # it tells of which run it is
        path = self.folder / "log.jsonl"
        try:
            first = next((line for _, line in read_lines(path)), "") if path.is_file() else ""
            is_log = not first or "step" in json.loads(first)
        except (MpirError, ValueError, TypeError):
            is_log = False
        curves = self.folder / "curves.png"
        if not is_log or (curves.exists() and not first):
            foreign = curves if is_log else path
            raise OutputError(f"{foreign}: was not written by a training run; move it, or choose another --output.")

    def _mend_log(self) -> None:
        """Drop an incomplete last line, which a full disk or a loss of power leaves: no line may follow it."""
        path = self.folder / "log.jsonl"
        content = path.read_bytes() if path.is_file() else b""
        if content and not content.endswith(b"\n"):
            log.warning("%s: its last line is incomplete and is dropped", path)
            os.truncate(path, content.rfind(b"\n") + 1)

    def _identity(self) -> str:
        values = {name: value for name, value in asdict(self.settings).items() if value is not None}
        values["bf16"] = (precision := values.pop("precision")) == "bf16"
        if precision == "fp16":
            values["fp16"] = True
        return fingerprint({**values, "batches": len(self.batches), "tasks": [t.name for t in self.tasks]})

    @cached_property
    def _data(self) -> str:
        """What the batches hold, and which losses they meet."""
        return fingerprint([[_losses(task) for task in self.tasks], *self.batches.identity])

    @cached_property
    def _dev(self) -> str:
        """The rows that the best checkpoint is chosen on: figures on others cannot be compared."""
        return fingerprint([[asdict(row) for row in task.dev] for task in self.tasks])

    def _save_state(self) -> None:
        state = {
            "settings": asdict(self.settings),
            "identity": self._identity(),
            "start": self._start,
            "data": self._data,
            "dev": self._dev,
            "counters": (self.step, self.best, self.stale),
            "falls": self.falls,
            "skipped": self.skipped,
            "pool": (self._pool_step, list(self._negatives.values())),
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "rate": self.rate.state_dict(),
            "scaler": self.scaler.state_dict(),
            "random": torch.get_rng_state(),
            "device random": torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else None,
        }
        with write_bytes_with_checksum(self.folder / "state.pt") as stream:
            torch.save(state, stream)

    def _resume(self) -> None:
        path = self.folder / "state.pt"
        if not path.exists():
            return
        try:
            verify_bytes(path, "remove it to start the run anew")
            state = torch.load(path, weights_only=True, map_location="cpu")
            self._check_state(state, path)
            self._restore(state)
        except ArtefactError:
            raise
        except Exception as error:  # torch raises whatever unpickling runs into
            message = f"{path}: is damaged and cannot be resumed from; remove it to start the run anew."
            raise ArtefactError(message) from error
        log.info("%s: goes on after %d of %d batches", path, self.step, len(self.batches))

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.step, self.best, self.stale = state["counters"]
        self.falls, self.skipped = state.get("falls", 0), state.get("skipped", 0)
        step, negatives = state.get("pool", (0, []))
        if negatives and (pool := self.batches[step].pool):
            self._hold(step, pool, negatives)
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.rate.load_state_dict(state["rate"])
        if state.get("scaler"):
            self.scaler.load_state_dict(state["scaler"])
        torch.set_rng_state(state["random"])
        if self.device.type == "cuda" and state.get("device random") is not None:
            torch.cuda.set_rng_state(state["device random"], self.device)

    def _check_state(self, state: Mapping[str, Any], path: Path) -> None:
        for key, value, expected_type in (
            ("identity", self._identity(), f"with other settings{self._different_setting(state)}"),
            ("start", self._start, "from another checkpoint of that name"),
            ("data", self._data, "with other data or losses"),
            ("dev", self._dev, "with other dev rows"),
        ):
            if state.get(key, value) != value:  # early versions kept fewer of them
                raise ArtefactError(f"{path}: belongs to a run {expected_type}; choose another folder or remove it.")
        if not (self.folder / "best/config.json").is_file() and state["counters"][1] > -math.inf:
            raise ArtefactError(
                f"{self.folder / 'best'}: the best checkpoint so far is gone; remove {path} to start the run anew."
            )

    def _different_setting(self, state: Mapping[str, Any]) -> str:
        """The first setting that a saved state differs in, in words; early versions did not keep them."""
        now = asdict(self.settings)
        before = state.get("settings", now)
        name = next((name for name, value in now.items() if before.get(name) != value), None)
        return "" if name is None else f" ({name} was {before.get(name)}, and is {now[name]})"

    def _parameter_groups(self) -> list[dict[str, Any]]:
        quick: dict[str, float] = dict(getattr(self.model, "faster", {}))
        if self.settings.head_rate != 1:
            quick[HEADS] = self.settings.head_rate
        usual = [p for name, p in self.model.named_parameters() if not name.startswith(tuple(quick))]
        return [
            {"params": [p for p in usual if p.ndim > 1], "weight_decay": self.settings.weight_decay},
            {"params": [p for p in usual if p.ndim <= 1], "weight_decay": 0.0},
            *(
                {
                    "params": [p for name, p in self.model.named_parameters() if name.startswith(begin)],
                    "weight_decay": 0.0,
                    "lr": factor * self.settings.learning_rate,
                }
                for begin, factor in quick.items()
            ),
        ]


def _losses(task: Task) -> list[str]:
    """A task's losses and, where it is not the usual one, its pooling."""
    how = task.pooling
    sampled = [] if task.sampling is None else [str(task.sampling)]
    vectors = [str(how)] if isinstance(how, LateInteraction) else [how.method, how.similarity]
    return [*map(str, task.losses), *([] if how == MEAN else vectors), *sampled]
