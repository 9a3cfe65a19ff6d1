"""The training loop: one encoder, one output per perspective, batches of the mixture in a fixed order."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import pearsonr, spearmanr
from tqdm import tqdm
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup

from mpir.errors import ArtefactError, MpirError
from mpir.files import atomic_write, fingerprint
from mpir.train.losses import LOSSES
from mpir.train.mixture import Batch, Row, Task, schedule

CHUNK = 16
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to train. `rows` is the batch size in (question, sentence) pairs; `length` the most tokens of a pair."""

    checkpoint: str
    rows: int = 48
    learning_rate: float = 5e-5
    weight_decay: float = 0.01
    adam_epsilon: float = 1e-8
    warmup: float = 0.06
    length: int = 192
    accumulate: int = 1
    seed: int = 1
    bf16: bool = True
    evaluate_every: int = 400
    save_every: int = 200
    patience: int = 1000


class FineTuner:
    """Fine-tunes one checkpoint for all perspectives of a mixture; resumes from its own folder."""

    def __init__(self, settings: Settings, tasks: list[Task], folder: str | Path) -> None:
        """Load the checkpoint with one fresh output per task.

        Raises:
            ArtefactError: the checkpoint cannot be loaded.
        """
        self.settings, self.tasks, self.folder = settings, tasks, Path(folder)
        torch.manual_seed(settings.seed)
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(settings.checkpoint)
            self.model = AutoModelForSequenceClassification.from_pretrained(
                settings.checkpoint,
                num_labels=len(tasks),
                problem_type="regression",
                dtype=torch.float32,
                # Dropout on attention weights takes the slow attention path; on the hidden states it stays.
                attention_probs_dropout_prob=0.0,
            )
        except (OSError, ValueError) as error:
            message = f"{settings.checkpoint}: cannot be loaded as an encoder checkpoint ({error}); check the name."
            raise ArtefactError(message.replace("\n", " ")) from error
        self.batches = schedule(tasks, settings.rows, settings.seed)
        steps = math.ceil(len(self.batches) / settings.accumulate)
        self.optimiser = torch.optim.AdamW(
            self._parameter_groups(), lr=settings.learning_rate, eps=settings.adam_epsilon, fused=True
        )
        self.rate = get_linear_schedule_with_warmup(self.optimiser, int(settings.warmup * steps), steps)
        self.best, self.step, self.stale = -math.inf, 0, 0

    def run(self, *, progress: bool = False) -> Path:
        """Train to the end (or until dev stops improving) and return the folder of the best checkpoint."""
        self._resume()
        bar = tqdm(total=len(self.batches), initial=self.step, desc="training", unit="batch", disable=not progress)
        while self.step < len(self.batches) and self.stale < self.settings.patience:
            value = self._train_step(self.batches[self.step])
            self.step += 1
            bar.update()
            bar.set_postfix(loss=f"{value:.3f}", best=f"{self.best:.4f}")
            last = self.step == len(self.batches)
            if last or self.step % self.settings.evaluate_every == 0:
                self._keep_best()
            if last or self.step % self.settings.save_every == 0:
                self._save_state()
        return self.folder / "best"

    def load(self, checkpoint: str | Path) -> None:
        """Take the weights of a checkpoint that this run has written."""
        kept = AutoModelForSequenceClassification.from_pretrained(checkpoint, dtype=torch.float32)
        self.model.load_state_dict(kept.state_dict())

    def evaluate(self) -> dict[str, float]:
        """The dev figure of every perspective: MAP per question for relevance, Pearson for STS, Spearman for SIA."""
        return {
            task.name: METRICS.get(task.losses[0], spearman)(task.dev, self.outputs(task.dev)[:, index])
            for index, task in enumerate(self.tasks)
        }

    @torch.inference_mode()
    def outputs(self, rows: list[Row]) -> np.ndarray[Any, Any]:
        """Raw outputs (N, perspectives) of the model as it is now, in the order of the rows."""
        self.model.eval()
        parts = [self._logits(rows[start : start + 1024]).numpy(force=True) for start in range(0, len(rows), 1024)]
        return np.concatenate(parts)

    def _logits(self, rows: list[Row]) -> torch.Tensor:
        """Raw outputs (N, perspectives), computed in chunks of like length so that little is spent on padding."""
        order = sorted(range(len(rows)), key=lambda i: len(rows[i].question) + len(rows[i].sentence))
        chunks = [order[start : start + CHUNK] for start in range(0, len(order), CHUNK)]
        logits = torch.cat([self._chunk_logits([rows[i] for i in chunk]) for chunk in chunks])
        return logits[torch.argsort(torch.tensor(order, device=logits.device))]

    def _chunk_logits(self, rows: list[Row]) -> torch.Tensor:
        encoded = self.tokenizer(
            [r.question for r in rows],
            [r.sentence for r in rows],
            truncation="longest_first",
            max_length=self.settings.length,
            padding=True,
            pad_to_multiple_of=16,  # few different shapes: oneDNN keeps a kernel for each and makes new ones slowly
            return_tensors="pt",
        ).to(self.model.device)
        with torch.autocast(self.model.device.type, torch.bfloat16, enabled=self.settings.bf16):
            logits: torch.Tensor = self.model(**encoded).logits.float()
        return logits

    def _train_step(self, batch: Batch) -> float:
        self.model.train()
        started = time.perf_counter()
        logits = self._logits(batch.rows)[:, batch.task]
        labels = torch.tensor([row.label for row in batch.rows], device=logits.device)
        names = {name: i for i, name in enumerate(dict.fromkeys(row.group for row in batch.rows))}
        groups = torch.tensor([names[row.group] for row in batch.rows], device=logits.device)
        loss = torch.stack([LOSSES[name](logits, labels, groups) for name in self.tasks[batch.task].losses]).sum()
        if not torch.isfinite(loss):
            raise MpirError(
                f"batch {self.step}: the loss is {loss.item()}; the last good checkpoint is in {self.folder}."
            )
        (loss / self.settings.accumulate).backward()  # type: ignore[no-untyped-call]
        if (self.step + 1) % self.settings.accumulate == 0 or self.step + 1 == len(self.batches):
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimiser.step()
            self.rate.step()
            self.optimiser.zero_grad()
        seconds = round(time.perf_counter() - started, 3)
        self._log(step=self.step, task=self.tasks[batch.task].name, loss=loss.item(), rows=len(labels), seconds=seconds)
        return loss.item()

    def _keep_best(self) -> None:
        figures = self.evaluate()
        mean = float(np.mean(list(figures.values())))
        self._log(step=self.step, dev=figures, mean=mean)
        log.info("step %d: %s", self.step, figures)
        self.stale = 0 if mean > self.best else self.stale + 1
        if mean > self.best:
            self.best = mean
            self.model.save_pretrained(self.folder / "best")
            self.tokenizer.save_pretrained(self.folder / "best")

    def _log(self, **values: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "log.jsonl", "a", encoding="utf-8") as stream:
            stream.write(json.dumps(values) + "\n")

    def _identity(self) -> str:
        return fingerprint(
            {**asdict(self.settings), "batches": len(self.batches), "tasks": [t.name for t in self.tasks]}
        )

    def _save_state(self) -> None:
        state = {
            "identity": self._identity(),
            "counters": (self.step, self.best, self.stale),
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "rate": self.rate.state_dict(),
            "random": torch.get_rng_state(),
        }
        with atomic_write(self.folder / "state.pt", binary=True) as stream:
            torch.save(state, stream)

    def _resume(self) -> None:
        path = self.folder / "state.pt"
        if not path.exists():
            return
        state = torch.load(path, weights_only=True)
        if state["identity"] != self._identity():
            raise ArtefactError(f"{path}: belongs to a run with other settings; choose another folder or remove it.")
        self.step, self.best, self.stale = state["counters"]
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.rate.load_state_dict(state["rate"])
        torch.set_rng_state(state["random"])

    def _parameter_groups(self) -> list[dict[str, Any]]:
        decayed = [p for p in self.model.parameters() if p.ndim > 1]
        others = [p for p in self.model.parameters() if p.ndim <= 1]
        return [
            {"params": decayed, "weight_decay": self.settings.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]


def mean_average_precision(rows: list[Row], values: np.ndarray[Any, Any]) -> float:
    """Mean over questions with a positive of the average precision of their rows ranked by value."""
    groups: dict[str, list[tuple[float, bool]]] = {}
    for row, value in zip(rows, values, strict=True):
        groups.setdefault(row.group, []).append((-float(value), row.label > 0))
    found = [_average_precision([hit for _, hit in sorted(group)]) for group in groups.values()]
    return float(np.mean([value for value in found if value is not None]))


def _average_precision(hits: list[bool]) -> float | None:
    ranks = np.flatnonzero(hits) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks)) if len(ranks) else None


def pearson(rows: list[Row], values: np.ndarray[Any, Any]) -> float:
    """Pearson's correlation of the sigmoid of the values with the labels."""
    return float(pearsonr(1 / (1 + np.exp(-values)), [row.label for row in rows])[0])


def spearman(rows: list[Row], values: np.ndarray[Any, Any]) -> float:
    """Spearman's rank correlation of values and labels."""
    return float(spearmanr(values, [row.label for row in rows])[0])


METRICS: dict[str, Callable[[list[Row], np.ndarray[Any, Any]], float]] = {
    "bce": mean_average_precision,
    "listwise": mean_average_precision,
    "pairwise": mean_average_precision,
    "mse5": pearson,
    "mse4": spearman,
}
