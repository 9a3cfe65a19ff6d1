"""The loss of one question: a teacher's outputs of all sentences, gold sentences, and relevant documents.

Distillation carries most of the signal, since few documents have gold sentences: squared error from each output of the
teacher, and the divergence of the relevance of all sentences of a question's candidates. A document's relevance learns
from judged documents or, where none of the candidates is known to be relevant, from the teacher's best sentence. Where
a teacher has read documents, each of their outputs learns from its own, by squared error and divergence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from mpir.errors import InputError, format_names, format_value
from mpir.lab.train.document_mixture import TrainingDocument, TrainingQuestion
from mpir.lab.train.loss_functions import binary_cross_entropy, divergence, listwise_softmax
from mpir.models.bundles.bundle import open_bundle
from mpir.models.perspectives.cross_encoder import CrossEncoderPerspective
from mpir.types import F32

LISTWISE, GOLD, DOCUMENTS = 0.3, 0.3, 0.5
"""Weights of the listwise terms, of gold sentences and of judged documents; that of the teacher's outputs is 1."""
SHARPNESS = 2.0
"""By which a teacher's standardised outputs of documents are multiplied to logits of a distribution over a list."""


def question_loss(
    outputs: Tensor,
    documents: Sequence[TrainingDocument],
    counts: Sequence[int],
    spread: Tensor,
    *,
    document_spread: Tensor,
) -> Tensor:
    """Return the loss of a question.

    Args:
        outputs: raw outputs (R, P + D): for each document, its own row and those of its first `counts[i]` sentences.
            The first P columns are outputs of sentences, the last D those of documents, relevance first in both.
        documents: the documents, with their labels.
        counts: the number of sentences that were read in each document.
        spread: the standard deviation (P,) of each output of the teacher.
        document_spread: the same (D,) of its outputs of documents.
    """
    starts = np.cumsum([0, *(count + 1 for count in counts)])[:-1]
    is_sentence = np.ones(len(outputs), bool)
    is_sentence[starts] = False
    width = len(spread)
    sentences, whole = outputs[torch.from_numpy(is_sentence), :width], outputs[torch.from_numpy(starts), width:]
    losses = [
        *_distillation(sentences, _stacked([document.teacher for document in documents], counts), spread),
        *_gold_sentences(sentences[:, 0], _stacked([document.gold for document in documents], counts)),
        *_documents(whole[:, 0], documents),
        *_document_distillation(whole, documents, document_spread),
    ]
    return torch.stack(losses).sum() if losses else outputs.sum() * 0.0


def _stacked(values: Sequence[F32 | None], counts: Sequence[int]) -> F32:
    """The values of the sentences that were read; NaN for documents without values."""
    shape = next((array.shape[1:] for array in values if array is not None), ())
    missing = [np.full((count, *shape), np.nan, np.float32) for count in counts]
    return np.concatenate(
        [empty if array is None else array[: len(empty)] for array, empty in zip(values, missing, strict=True)]
    )


def _distillation(sentences: Tensor, teacher: F32, spread: Tensor) -> list[Tensor]:
    if teacher.ndim < 2:
        return []
    is_known = torch.from_numpy(np.isfinite(teacher[:, 0])).to(sentences.device)
    targets, student = torch.from_numpy(teacher).to(sentences.device)[is_known], sentences[is_known]
    relevance = divergence(student[None, :, 0], targets[None, :, 0], torch.ones_like(targets[None, :, 0]).bool())
    return [((student - targets) / spread).square().mean(), LISTWISE * relevance]


def _gold_sentences(relevance: Tensor, gold: F32) -> list[Tensor]:
    is_known = torch.from_numpy(np.isfinite(gold)).to(relevance.device)
    if not is_known.any():
        return []
    return [GOLD * binary_cross_entropy(relevance, torch.from_numpy(gold).to(relevance.device), is_known)]


def _documents(whole: Tensor, documents: Sequence[TrainingDocument]) -> list[Tensor]:
    labels = torch.tensor([np.nan if document.label is None else document.label for document in documents])
    labels = labels.to(whole.device)
    is_judged = ~labels.isnan()
    if (labels > 0).any():
        listwise = listwise_softmax(whole[None], labels[None], is_judged[None])
        return [DOCUMENTS * binary_cross_entropy(whole, labels, is_judged), LISTWISE * listwise]
    taught = [number for number, document in enumerate(documents) if document.teacher is not None]
    if not taught or any(_knows_relevance(document) for document in documents):
        return []
    best = torch.tensor([float(_teacher_of(documents[number])[:, 0].max()) for number in taught])
    scores = whole[torch.tensor(taught)][None]
    return [LISTWISE * divergence(scores, best.to(whole.device)[None], torch.ones_like(scores).bool())]


def _knows_relevance(document: TrainingDocument) -> bool:
    return document.document_teacher is not None and bool(np.isfinite(document.document_teacher[0]))


def _document_distillation(whole: Tensor, documents: Sequence[TrainingDocument], spread: Tensor) -> list[Tensor]:
    """The losses of each output of documents (N, D) that a teacher has given for some of them."""
    missing = np.full(whole.shape[1], np.nan, np.float32)
    rows = [missing if document.document_teacher is None else document.document_teacher for document in documents]
    targets, losses = torch.from_numpy(np.stack(rows)).to(whole.device) / spread, list[Tensor]()
    for student, target in zip((whole / spread).T, targets.T, strict=True):
        is_known = ~target.isnan()
        if is_known.any():
            mine, theirs = student[is_known][None], target[is_known][None]
            ranked = divergence(SHARPNESS * mine, SHARPNESS * theirs, torch.ones_like(theirs).bool())
            losses += [(mine - theirs).square().mean(), LISTWISE * ranked]
    return losses


def _teacher_of(document: TrainingDocument) -> F32:
    assert document.teacher is not None
    return document.teacher


class DocumentTeacher:
    """Perspectives of a bundle that share one cross-encoder."""

    def __init__(self, bundle: str, names: Sequence[str], *, device: str, precision: str) -> None:
        """Open the bundle.

        Raises:
            ArtefactError: the bundle cannot be loaded.
            InputError: a name is none of its cross-encoder's perspectives.
        """
        perspectives = open_bundle(bundle).perspectives(device=device, precision=precision)
        readers = {item.name: item for item in perspectives if type(item) is CrossEncoderPerspective}
        for name in names:
            if name not in readers or readers[name].encoder is not readers[names[0]].encoder:
                raise InputError(
                    f"teacher {format_value(bundle)}: no cross-encoder's perspective {format_value(name)} beside "
                    f"{format_value(names[0])} (got {format_names(list(readers))}); name another bundle."
                )
        self._encoder, self._outputs = readers[names[0]].encoder, [readers[name].output for name in names]

    def teach(self, question: TrainingQuestion) -> TrainingQuestion:
        """Return the question with the outputs of all sentences of documents that have no teacher's outputs."""
        untaught = [document for document in question.documents if document.teacher is None]
        pairs = [(question.question, sentence) for document in untaught for sentence in document.sentences]
        if not pairs:
            return question
        outputs = self._encoder.outputs(pairs)[0][:, self._outputs]
        ends = np.cumsum([len(document.sentences) for document in untaught])[:-1]
        taught = iter(np.split(outputs, ends))
        return replace(question, documents=tuple(_with_teacher(item, taught) for item in question.documents))


def _with_teacher(document: TrainingDocument, taught: Iterator[F32]) -> TrainingDocument:
    return document if document.teacher is not None else replace(document, teacher=next(taught))
