"""The loss of one question: a teacher's outputs of all sentences, gold sentences, and relevant documents.

Distillation carries most of the signal, since few documents have gold sentences: squared error from each output of the
teacher, and the divergence of the relevance of all sentences of a question's candidates. A document's output learns
from judged documents or, where none of the candidates is known to be relevant, from the teacher's best sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from mpir.lab.train.document_rows import TrainingDocument
from mpir.lab.train.loss_functions import binary_cross_entropy, divergence, listwise_softmax
from mpir.types import F32

LISTWISE, GOLD, DOCUMENTS = 0.3, 0.3, 0.5
"""Weights of the listwise terms, of gold sentences and of judged documents; that of the teacher's outputs is 1."""


def question_loss(
    outputs: Tensor, documents: Sequence[TrainingDocument], counts: Sequence[int], spread: Tensor
) -> Tensor:
    """Return the loss of a question.

    Args:
        outputs: raw outputs (R, P + 1): for each document, its own row and those of its first `counts[i]` sentences.
            The first P columns are the teacher's perspectives, relevance first; the last is the document's relevance.
        documents: the documents, with their labels.
        counts: the number of sentences that were read in each document.
        spread: the standard deviation (P,) of each output of the teacher.
    """
    starts = np.cumsum([0, *(count + 1 for count in counts)])[:-1]
    is_sentence = np.ones(len(outputs), bool)
    is_sentence[starts] = False
    sentences, whole = outputs[torch.from_numpy(is_sentence)], outputs[torch.from_numpy(starts), -1]
    losses = [
        *_distillation(sentences, _stacked([document.teacher for document in documents], counts), spread),
        *_gold_sentences(sentences[:, 0], _stacked([document.gold for document in documents], counts)),
        *_documents(whole, documents),
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
    targets, student = torch.from_numpy(teacher).to(sentences.device)[is_known], sentences[is_known, :-1]
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
    if not taught:
        return []
    best = torch.tensor([float(_teacher_of(documents[number])[:, 0].max()) for number in taught])
    scores = whole[torch.tensor(taught)][None]
    return [LISTWISE * divergence(scores, best.to(whole.device)[None], torch.ones_like(scores).bool())]


def _teacher_of(document: TrainingDocument) -> F32:
    assert document.teacher is not None
    return document.teacher
