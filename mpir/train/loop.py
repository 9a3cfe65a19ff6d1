"""The training loop: one encoder for all perspectives, batches of the mixture in a fixed order.

A perspective is an output of the encoder, which reads question and sentence together, or the product of their vectors,
for which it reads each alone (Reimers & Gurevych, "Sentence-BERT", 2019).
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm
from transformers import AutoModelForSequenceClassification

from mpir.errors import ArtefactError, InputError, MpirError
from mpir.io.alone import alone
from mpir.io.hash import fingerprint
from mpir.io.write import atomic_folder, atomic_write, naming_output
from mpir.models.device import choose_budget, choose_device
from mpir.models.encoder import positions_of
from mpir.models.identity import identity_of
from mpir.models.interaction import Interaction, maxsim
from mpir.models.late import LateInteraction
from mpir.models.pooling import MEAN, Pooling, padded_vectors
from mpir.models.reading import token_reading
from mpir.models.tokenise import TokenSequence, batches, pad
from mpir.models.unpadded import UnpaddedBert, can_unpad
from mpir.train.apart import ByToken, ByVector, Compared
from mpir.train.data import Task, allot, outputs_needed
from mpir.train.large_batches import backward_in_parts
from mpir.train.matrices import batch_places, known_positives, own_places, same
from mpir.train.pretrained import load_encoder, width_of
from mpir.train.rate import make_rate
from mpir.train.rows import Example
from mpir.train.sampling import allowed, choose, triplets
from mpir.train.schedule import Batch, schedule
from mpir.train.settings import TrainingSettings

__all__ = ["FineTuner", "TrainingSettings"]

HEADS = "classifier."
"""How the names begin of what turns an encoder's state into outputs."""
PARTS = ("input_ids", "token_type_ids")
AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
log = logging.getLogger(__name__)


class FineTuner:
    """Fine-tunes one checkpoint for all perspectives of a mixture; resumes from its own folder."""

    def __init__(
        self, settings: TrainingSettings, tasks: list[Task], folder: str | Path, *, device: str = "auto"
    ) -> None:
        """Load the checkpoint with one output per task that is not a bi-encoder's: its own head or a fresh one.

        Raises:
            ArtefactError: the checkpoint cannot be loaded.
            InputError: no such device, or fp16 on one that cannot train with it.
        """
        self.settings, self.tasks, self.folder = settings, allot(tasks), Path(folder)
        self.device = choose_device(device)
        for task in tasks if settings.mini_batch_size else ():
            _vector_pooling(task)
        if settings.precision == "fp16" and self.device.type != "cuda":
            raise InputError(f"precision fp16 cannot be trained with on {self.device}; choose bf16 or fp32, or a GPU.")
        torch.manual_seed(settings.seed)
        together = [index for index, task in enumerate(tasks) if not task.is_bi_encoder]
        self.output_of = {index: output for output, index in enumerate(together)}
        outputs = outputs_needed(self.tasks, lambda: width_of(settings.checkpoint))
        self.tokenizer, self.model = load_encoder(settings.checkpoint, outputs)
        self._start = fingerprint(identity_of(settings.checkpoint, None, settings.max_length, settings.precision))
        self.model.to(self.device)
        self.interaction: Interaction = getattr(self.model, "interaction", maxsim)
        self.unpadded = UnpaddedBert(self.model, trains=True) if can_unpad(self.model) else None
        self.longest = self._longest()
        self.tokens_per_chunk = choose_budget(None, [self.device], self.longest)
        self.known = {
            index: known_positives(row for groups, _ in task.train for group in groups for row in group)
            for index, task in enumerate(tasks)
            if task.sampling or any(loss.in_batch for loss in task.losses)
        }
        self.skipped = 0
        self.cut: set[str] = set()
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
        with alone(self.folder / ".training.lock", "training there"):
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

    def load(self, checkpoint: str | Path) -> None:
        """Take the weights of a checkpoint that this run has written."""
        kept = AutoModelForSequenceClassification.from_pretrained(checkpoint, dtype=torch.float32)
        self.model.load_state_dict(kept.state_dict())

    @property
    def seen(self) -> list[int]:
        """How many rows of each task the steps so far were made from."""
        rows = self.batches.seen(self.step)
        return [rows[task] for task in range(len(self.tasks))]

    def evaluate(self) -> dict[str, float]:
        """The dev figure of every perspective: that of its first loss on dev rows, or nDCG@10 of a search."""
        return {task.name: self._figure(index, task) for index, task in enumerate(self.tasks)}

    def _figure(self, index: int, task: Task) -> float:
        if task.retrieval is None:
            return task.losses[0].metric(task.dev, self.outputs(task.dev, [index])[:, 0])
        return task.retrieval.measure(lambda questions, texts: self._search(questions, texts, task.pooling))

    @torch.inference_mode()
    def _search(
        self, questions: list[str], texts: list[str], pooling: Pooling | LateInteraction
    ) -> np.ndarray[Any, Any]:
        """Scores (Q, T) of every question with every text, by the model as it is now."""
        self.model.eval()
        parts = [texts[start : start + 1024] for start in range(0, len(texts), 1024)]
        return np.concatenate([self._closeness(questions, part, pooling) for part in parts], axis=1)

    @torch.inference_mode()
    def outputs(self, rows: list[Example], tasks: Sequence[int]) -> np.ndarray[Any, Any]:
        """What the model as it is now gives (N, tasks) for the rows: raw outputs, or a bi-encoder's products."""
        self.model.eval()
        parts = [rows[start : start + 1024] for start in range(0, len(rows), 1024)]
        return np.concatenate([self._outputs(part, tasks).numpy(force=True) for part in parts])

    def _outputs(self, rows: list[Example], tasks: Sequence[int]) -> torch.Tensor:
        """Raw outputs or products (N, tasks); each way of reading happens at most once, and only if it is needed."""
        found: dict[int, torch.Tensor] = {}
        if together := [task for task in tasks if task in self.output_of]:
            logits = self._read(self._logits, [row.question for row in rows], [row.sentence for row in rows])
            found |= {task: logits[:, self.output_of[task]] for task in together}
        apart = [task for task in tasks if task not in self.output_of]
        for pooling in {self.tasks[task].pooling for task in apart}:
            product = self._compared(rows, pooling).pairs()
            found |= {task: product for task in apart if self.tasks[task].pooling == pooling}
        return torch.stack([found[task] for task in tasks], dim=1)

    def _compared(self, rows: list[Example], pooling: Pooling | LateInteraction) -> Compared:
        """The texts of the rows, read apart."""
        if not isinstance(pooling, LateInteraction):
            return ByVector(*self._vectors_of(rows, pooling))
        questions = self._token_vectors([row.question for row in rows], pooling, question=True)
        texts = self._token_vectors([row.sentence for row in rows], pooling, question=False)
        return ByToken(questions, texts, self.interaction)

    def _token_vectors(self, texts: list[str], late: LateInteraction, *, question: bool) -> list[torch.Tensor]:
        """The token vectors (T, W) of N texts, each distinct one read once; what is too long is cut, and counted."""
        distinct, found = list(dict.fromkeys(texts)), dict[str, torch.Tensor]()
        tokens = late.read(self.tokenizer, distinct, question=question, most=self.longest)
        first = np.searchsorted(tokens.pair_of, np.arange(len(distinct)))
        if question:
            self.cut.update(distinct[i] for i in np.flatnonzero(np.bincount(tokens.pair_of) > 1))
        reading = token_reading(late, self.tokenizer, question=question)
        for chunk in batches(tokens.lengths[first], self.tokens_per_chunk):
            sequences = tokens.sequences(first[chunk])
            with self._autocast():
                flat = (
                    reading.padded(self.model, self._padded(sequences))
                    if self.unpadded is None
                    else reading.unpadded(self.unpadded, sequences)
                )
            parts = torch.split(flat.float(), [len(one.ids) for one in sequences])
            for place, one, part in zip(chunk.tolist(), sequences, parts, strict=True):
                counts = torch.from_numpy(late.counting(self.tokenizer, one.ids, question=question))
                found[distinct[place]] = part[counts.to(part.device)]
        return [found[text] for text in texts]

    def _vectors_of(self, rows: list[Example], pooling: Pooling) -> tuple[torch.Tensor, torch.Tensor]:
        """The vectors (N, W) of the rows' questions and of their sentences; each distinct text is read once."""
        texts, places = _distinct(rows)
        vectors = self._read(lambda sequences: self._vectors(sequences, pooling), texts)
        left, right = vectors[places.to(vectors.device)].chunk(2)
        return left, right

    def _read(self, forward: Callable[[list[TokenSequence]], torch.Tensor], *texts: list[str]) -> torch.Tensor:
        """What a pass gives for N texts or pairs, in chunks of like length so that little is spent on padding."""
        tokens = self._tokens(*texts)
        chunks = list(batches(np.array([len(one.ids) for one in tokens]), self.tokens_per_chunk))
        with self._autocast():
            values = torch.cat([forward([tokens[i] for i in chunk]).float() for chunk in chunks])
        return values[torch.from_numpy(np.argsort(np.concatenate(chunks))).to(values.device)]

    def _autocast(self) -> torch.autocast:
        precision = self.settings.precision
        return torch.autocast(self.device.type, AUTOCAST[precision], enabled=precision != "fp32")

    def _tokens(self, *texts: list[str]) -> list[TokenSequence]:
        """The tokens of N texts or pairs, cut at the longest that is trained on."""
        found = self.tokenizer(*texts, truncation="longest_first", max_length=self.longest, return_token_type_ids=True)
        return [
            TokenSequence(*(np.array(part, np.int32) for part in one))
            for one in zip(*map(found.get, PARTS), strict=True)
        ]

    def _logits(self, sequences: list[TokenSequence]) -> torch.Tensor:
        """Raw outputs (n, K) of a chunk, without padding where the model can do without."""
        if self.unpadded is not None:
            return self.unpadded(sequences)
        logits: torch.Tensor = self.model(**self._padded(sequences)).logits
        return logits

    def _vectors(self, sequences: list[TokenSequence], pooling: Pooling) -> torch.Tensor:
        """Vectors (n, W) of a chunk."""
        if self.unpadded is not None:
            return self.unpadded.vectors(sequences, pooling)
        return padded_vectors(self.model, self._padded(sequences), pooling)

    def _padded(self, sequences: list[TokenSequence]) -> dict[str, torch.Tensor]:
        inputs = pad(sequences, self.tokenizer.pad_token_id or 0)
        wanted = [name for name in self.tokenizer.model_input_names if name in inputs]
        return {name: torch.from_numpy(inputs[name]).to(self.device) for name in wanted}

    def _train_step(self, batch: Batch) -> float:
        self.model.train()
        started = time.perf_counter()
        loss = self._backward(batch)
        if not torch.isfinite(loss):
            best = self.folder / "best"
            kept = f"the last good checkpoint is in {best}" if best.is_dir() else "no checkpoint was kept yet"
            raise MpirError(
                f"batch {self.step}: the loss is {loss.item()}; {kept}; "
                "lower the learning rate or use fp32, and train into another folder."
            )
        if (self.step + 1) % self.settings.gradient_accumulation_steps == 0 or self.step + 1 == len(self.batches):
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
        pooling = _vector_pooling(self.tasks[index])
        texts, places = _distinct(rows)
        tokens = self._tokens(texts)
        order = np.argsort([len(one.ids) for one in tokens], kind="stable")
        parts = [[tokens[i] for i in order[start : start + size]] for start in range(0, len(order), size)]
        where = torch.from_numpy(np.argsort(order))[places].to(self.device)

        def read(part: list[TokenSequence]) -> torch.Tensor:
            with self._autocast():
                return self._vectors(part, pooling).float()

        def loss(vectors: torch.Tensor) -> torch.Tensor:
            left, right = vectors[where].chunk(2)
            return self._loss(index, rows, ByVector(left, right))

        return backward_in_parts([partial(read, part) for part in parts], loss, self._scaled, self.device)

    def _scaled(self, loss: torch.Tensor) -> torch.Tensor:
        """What gradients are of: a batch's share of its step, the last of which may have fewer, scaled up for fp16."""
        together = self.settings.gradient_accumulation_steps
        first = self.step - self.step % together
        scaled: torch.Tensor = self.scaler.scale(loss / min(together, len(self.batches) - first))
        return scaled

    def _loss(self, index: int, rows: list[Example], compared: Compared | None) -> torch.Tensor:
        """The sum of a task's losses on rows, from texts that were read apart, or else from the outputs."""
        task, own = self.tasks[index], own_places(rows)
        values = self._outputs(rows, [index])[:, 0] if compared is None else compared.pairs()
        labels = values.new_tensor([row.label for row in rows])
        teacher = values.new_tensor([0.0 if row.teacher is None else row.teacher for row in rows])
        found = []
        for loss in task.losses:
            places = batch_places(rows, self._answers(index, rows)) if loss.in_batch else own
            scores = compared.products(places) if loss.in_batch and compared is not None else places.fill(values)
            mask = torch.from_numpy(places.mask).to(values.device)
            found.append(loss(scores, places.fill(teacher if loss.distilled else labels), mask))
        return torch.stack(found).sum()

    def _answers(self, task: int, rows: list[Example]) -> Mapping[str, set[str]]:
        """What is known to answer each question: by the rows in memory and, of triples, by those of the batch."""
        listed = self.known[task]
        if not self.tasks[task].triples:
            return listed
        here = known_positives(rows)
        return {one: listed.get(one, set()) | here.get(one, set()) for one in {same(row.question) for row in rows}}

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
        return [None if place is None else texts[place] for place in choose(closeness, may)]

    def _closeness(
        self, questions: list[str], texts: list[str], pooling: Pooling | LateInteraction
    ) -> np.ndarray[Any, Any]:
        """Scores (N, T) of every question with every text."""
        if isinstance(pooling, LateInteraction):
            right = self._token_vectors(texts, pooling, question=False)
            left = self._token_vectors(questions, pooling, question=True)
            return ByToken(left, right, self.interaction).all(left, range(len(right))).numpy(force=True)
        vectors = self._read(lambda sequences: self._vectors(sequences, pooling), questions + texts)
        return (vectors[: len(questions)] @ vectors[len(questions) :].T).numpy(force=True)

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
            with atomic_folder(self.folder / "best", marker="config.json") as temporary:
                self.model.save_pretrained(temporary)
                self.tokenizer.save_pretrained(temporary)

    def _log(self, **values: Any) -> None:
        path = self.folder / "log.jsonl"
        with naming_output(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(path, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(values) + "\n")

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
        with atomic_write(self.folder / "state.pt", binary=True) as stream:
            torch.save(state, stream)

    def _resume(self) -> None:
        path = self.folder / "state.pt"
        if not path.exists():
            return
        try:
            state = torch.load(path, weights_only=True, map_location="cpu")
            self._check_state(state, path)
            self._restore(state)
        except ArtefactError:
            raise
        except Exception as error:  # torch raises whatever unpickling runs into
            message = f"{path}: is damaged and cannot be resumed from; remove it to start the run anew."
            raise ArtefactError(message) from error

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
        for key, found, kind in (
            ("identity", self._identity(), f"with other settings{self._other(state)}"),
            ("start", self._start, "from another checkpoint of that name"),
            ("data", self._data, "with other data or losses"),
            ("dev", self._dev, "with other dev rows"),
        ):
            if state.get(key, found) != found:  # early versions kept fewer of them
                raise ArtefactError(f"{path}: belongs to a run {kind}; choose another folder or remove it.")
        if not (self.folder / "best/config.json").is_file() and state["counters"][1] > -math.inf:
            raise ArtefactError(
                f"{self.folder / 'best'}: the best checkpoint so far is gone; remove {path} to start the run anew."
            )

    def _other(self, state: Mapping[str, Any]) -> str:
        """The first setting that a saved state differs in, in words; early versions did not keep them."""
        now = asdict(self.settings)
        before = state.get("settings", now)
        name = next((name for name, value in now.items() if before.get(name) != value), None)
        return "" if name is None else f" ({name} was {before.get(name)}, and is {now[name]})"

    def _longest(self) -> int:
        """The most tokens of a pair that are read: `settings.max_length`, or as many as the model has positions for."""
        most = positions_of(self.model.config)
        if most < self.settings.max_length:
            log.warning(
                "%s reads %d tokens at most, so longer pairs are cut there, and not at max_length %d",
                *(self.settings.checkpoint, most, self.settings.max_length),
            )
        return min(most, self.settings.max_length)

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


def _distinct(rows: list[Example]) -> tuple[list[str], torch.Tensor]:
    """The texts of N rows, each once, and where each question and then each sentence stands among them (2 N,)."""
    texts = [row.question for row in rows] + [row.sentence for row in rows]
    number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return list(number), torch.tensor([number[text] for text in texts])


def _vector_pooling(task: Task) -> Pooling:
    """What a bi-encoder's vectors are. Raises InputError for a task that compares texts token by token."""
    if isinstance(task.pooling, LateInteraction):
        raise InputError(f"{task.name}: mini_batch_size is for one vector of each text; leave it out with late.")
    return task.pooling


def _losses(task: Task) -> list[str]:
    """A task's losses and, where it is not the usual one, its pooling."""
    how = task.pooling
    sampled = [] if task.sampling is None else [str(task.sampling)]
    vectors = [str(how)] if isinstance(how, LateInteraction) else [how.kind, how.similarity]
    return [*map(str, task.losses), *([] if how == MEAN else vectors), *sampled]
