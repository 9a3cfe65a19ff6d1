"""Train a model that reads whole documents: a question and its candidates in each step, in a fixed order."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch

from mpir.core.checksum import fingerprint
from mpir.core.text.types import QueryDocument
from mpir.errors import ArtefactError
from mpir.lab.train.document_loss import DocumentTeacher, question_loss
from mpir.lab.train.document_mixture import DocumentMixture, TrainingDocument, TrainingQuestion
from mpir.lab.train.examples import Example
from mpir.lab.train.exits import add_exits
from mpir.lab.train.losses import mean_average_precision
from mpir.lab.train.pretrained import load_encoder
from mpir.lab.train.run import TrainingRun
from mpir.lab.train.run_state import RunIdentity, start_of
from mpir.lab.train.settings import TrainingSettings
from mpir.models.bert.bert import UnpaddedBert
from mpir.models.bert.exits import StateCache
from mpir.models.bert.unpadded import can_unpad, unpad
from mpir.models.devices.device import choose_device
from mpir.models.documents.document_windows import DocumentWindows, tokenise_documents
from mpir.models.documents.sentence_outputs import SentenceOutputs
from mpir.models.tokens.tokenise import PairTokenizer
from mpir.types import F32, F64

DevOutputs: TypeAlias = dict[str, tuple[list[Example], F64]]
"""Labelled rows and their raw outputs (N,), by the name of a column."""
SINGLE = 4
"""Sentences of each step that are also read as documents of one sentence, as lists and pairs are."""
PARTIAL = 0.2
"""The share of documents of which a step reads only a part, as windows and passages are."""
SPREAD_QUESTIONS = 20
"""Questions from which the spread of the teacher's outputs is taken."""


class DocumentTuner(TrainingRun):
    """Fine-tunes one checkpoint on documents; resumes from its own folder. `settings.batch_size` counts documents."""

    units = "questions"

    def __init__(
        self, settings: TrainingSettings, mixture: DocumentMixture, folder: str | Path, *, device: str = "auto"
    ) -> None:
        """Load the checkpoint.

        Raises:
            ArtefactError: the checkpoint cannot be loaded, or cannot read documents.
            InputError: no such device.
        """
        self.mixture, self.device = mixture, choose_device(device)
        self.settings = settings = settings.on(self.device)
        torch.manual_seed(settings.seed)
        self._start = start_of(settings)
        self.tokenizer, self.model = load_encoder(settings.checkpoint, len(mixture.names))
        if mixture.exits and list(mixture.exits) != getattr(self.model.config, "exits", None):
            add_exits(self.model, list(mixture.exits), mixture.names)
        self.model.to(self.device)
        self._reader = self._unpadded()
        self._pairs = PairTokenizer(self.tokenizer, settings.max_length)
        self._teacher = self._open_teacher()
        self._orders: dict[int, list[int]] = {}
        self._spread, self._document_spread = (spread.to(self.device) for spread in self._measure_spread())
        self.begin(folder, settings.max_steps or len(self._order(0)))

    def evaluate(self) -> dict[str, float]:
        """Return the figures of `dev_figures` for the present weights."""
        return dev_figures(self.dev_outputs())

    def dev_outputs(self, depth: int | None = None) -> DevOutputs:
        """Return the labelled sentences and documents of dev with their raw outputs (N,), at an exit or the end."""
        sentences, documents = list[tuple[Example, float]](), list[tuple[Example, float]]()
        for question in self.mixture.dev:
            outputs, counts = self._read_in_eval_mode(question, depth)
            rows, width = np.split(outputs, np.cumsum([count + 1 for count in counts])[:-1]), len(self.mixture.scales)
            for document, document_rows in zip(question.documents, rows, strict=True):
                if document.label is not None:
                    documents.append((_example(question, document.label), float(document_rows[0, width])))
                labels = () if document.gold is None else document.gold.tolist()
                values = zip(labels, document_rows[1:, 0].tolist(), strict=False)  # beyond the first window: not read
                sentences += [(_example(question, label), value) for label, value in values]
        named = {next(iter(self.mixture.scales)): sentences, self.mixture.document: documents}
        return {
            name: ([row for row, _ in rows], np.array([value for _, value in rows])) for name, rows in named.items()
        }

    def learn(self, step: int) -> tuple[torch.Tensor, dict[str, Any]]:
        """See `TrainingRun`; the facts are the task and the number of documents."""
        question = self._batch(step)
        outputs, counts = self._read(question)
        losses = [
            weight
            * question_loss(
                outputs[depth].float(),
                question.documents,
                counts,
                self._spread,
                document_spread=self._document_spread,
            )
            for depth, weight in [*self.mixture.exits.items(), (None, 1.0)]
        ]
        loss = torch.stack(losses).sum()
        self.scaled(loss).backward()  # type: ignore[no-untyped-call]
        return loss.detach(), {"task": "documents", "rows": len(question.documents)}

    def _batch(self, step: int) -> TrainingQuestion:
        """The question of a step, with at most `batch_size` of its documents, and a few sentences on their own."""
        epoch, number = divmod(step, len(self._order(0)))
        generator = random.Random(f"{self.settings.seed} {step}")
        question = self._taught(self._order(epoch)[number])
        documents = _sample(question.documents, self.settings.batch_size, generator)
        singles = [_single(document, generator) for document in generator.choices(documents, k=SINGLE)]
        read = [_part(item, generator) if generator.random() < PARTIAL else item for item in documents]
        return TrainingQuestion(id=question.id, question=question.question, documents=(*read, *singles))

    def _taught(self, number: int) -> TrainingQuestion:
        """A question of the training rows; a teacher's outputs are kept for the next epoch."""
        if self._teacher is not None:
            self.mixture.train[number] = self._teacher.teach(self.mixture.train[number])
        return self.mixture.train[number]

    def _open_teacher(self) -> DocumentTeacher | None:
        mixture, precision = self.mixture, self.settings.precision
        if mixture.teacher is None:
            return None
        return DocumentTeacher(mixture.teacher, list(mixture.scales), device=str(self.device), precision=precision)

    def _measure_spread(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The standard deviations (P,), (D,) of the teacher's outputs for some questions; 1 without a teacher."""
        documents = [item for number in self._order(0)[:SPREAD_QUESTIONS] for item in self._taught(number).documents]
        outputs = [item.teacher for item in documents if item.teacher is not None]
        document_outputs = [item.document_teacher[None] for item in documents if item.document_teacher is not None]
        return _spread(outputs, len(self.mixture.scales)), _spread(document_outputs, len(self.mixture.document_scales))

    def _order(self, epoch: int) -> list[int]:
        """The numbers of an epoch's questions; the first epoch's and the last one asked for are kept."""
        if epoch not in self._orders:
            first = {0: self._orders[0]} if self._orders else {}
            generator = random.Random(f"{self.settings.seed} epoch {epoch}")
            self._orders = {**first, epoch: self.mixture.order(generator)}
        return self._orders[epoch]

    def _read(self, question: TrainingQuestion) -> tuple[dict[int | None, torch.Tensor], list[int]]:
        """Outputs (R, K) of documents and the sentences of their first windows, and the number of these sentences.

        There are outputs of each exit, by its layer, and those of the last layer (None), from one reading.
        """
        documents = [QueryDocument(question.question, document.sentences) for document in question.documents]
        tokens = tokenise_documents(documents, self._pairs.texts, self.tokenizer.unk_token_id)
        assert self._pairs.template is not None
        windows = DocumentWindows(tokens, self._pairs.template, self.settings.max_length)
        first = np.searchsorted(windows.pair_of, np.arange(len(documents)))
        counts = [end for _, end in (windows.sentences(row) for row in first.tolist())]
        sequences, states = windows.sequences(first), StateCache(limit=sys.maxsize)
        with self.autocast():
            return {
                depth: SentenceOutputs(depth, states).unpadded(self._reader, sequences)
                for depth in (*self.mixture.exits, None)
            }, counts

    @torch.inference_mode()
    def _read_in_eval_mode(self, question: TrainingQuestion, depth: int | None) -> tuple[F32, list[int]]:
        self.model.eval()
        outputs, counts = self._read(question)
        return np.asarray(outputs[depth].float().numpy(force=True)), counts

    def _unpadded(self) -> UnpaddedBert:
        """The forward pass for training, without dropout: a teacher's outputs are no labels to overfit."""
        for module in self.model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        reader = unpad(self.model, trains=True) if can_unpad(self.model) else None
        if not isinstance(reader, UnpaddedBert):
            raise ArtefactError(
                f"{self.settings.checkpoint}: {type(self.model).__name__} cannot read documents sentence by sentence; "
                "give a checkpoint of BERT, MPNet, RoBERTa, XLM-R or DistilBERT."
            )
        return reader

    @property
    def identity(self) -> RunIdentity:
        """See `TrainingRun`."""
        settings, (train, dev) = asdict(self.settings), self.mixture.hashes
        names, epochs = self.mixture.names, list(self.mixture.epochs.values())
        exits = {str(layer): weight for layer, weight in self.mixture.exits.items()}
        schedule = fingerprint([settings, self.total, names, epochs, self.mixture.teacher, exits])
        return RunIdentity(settings=settings, schedule=schedule, start=self._start, data=train, dev=dev)


def dev_figures(outputs: DevOutputs) -> dict[str, float]:
    """Return MAP of dev's sentences by relevance, where dev has gold ones, and of documents by their own output."""
    return {
        name: mean_average_precision(rows, values)
        for name, (rows, values) in outputs.items()
        if any(row.label > 0 for row in rows)
    }


def _sample(
    documents: tuple[TrainingDocument, ...], size: int, generator: random.Random
) -> tuple[TrainingDocument, ...]:
    """At most `size` documents, of which up to a third are relevant ones."""
    relevant = [number for number, document in enumerate(documents) if document.label]
    others = [number for number, document in enumerate(documents) if not document.label]
    chosen = generator.sample(relevant, min(len(relevant), max(1, size // 3)))
    chosen += generator.sample(others, min(len(others), size - len(chosen)))
    return tuple(documents[number] for number in sorted(chosen))


def _single(document: TrainingDocument, generator: random.Random) -> TrainingDocument:
    """A sentence of a document as a document without a label."""
    number = generator.randrange(len(document.sentences))
    return _span(document, number, number + 1)


def _part(document: TrainingDocument, generator: random.Random) -> TrainingDocument:
    """Some consecutive sentences of a document, rather few, as a document without a label."""
    count = len(document.sentences)
    start = generator.randrange(count)
    return _span(document, start, start + 1 + int(generator.random() ** 2 * (count - start)))


def _span(document: TrainingDocument, start: int, end: int) -> TrainingDocument:
    """Some sentences of a document; the document's own label and outputs are not theirs, unless they are all of it."""
    if end - start == len(document.sentences):
        return document
    return TrainingDocument(
        sentences=document.sentences[start:end],
        gold=None if document.gold is None else document.gold[start:end],
        teacher=None if document.teacher is None else document.teacher[start:end],
    )


def _spread(outputs: Sequence[F32], width: int) -> torch.Tensor:
    """The standard deviation of each output (W,) of a teacher, 1 where it is unknown."""
    values = np.concatenate([*outputs, np.full((1, width), np.nan, np.float32)])
    known = [column[np.isfinite(column)] for column in values.T]
    return torch.tensor([float(column.std().clip(min=1e-3)) if len(column) else 1.0 for column in known])


def _example(question: TrainingQuestion, label: float) -> Example:
    return Example(group=question.id, question=question.question, sentence="", label=label)
