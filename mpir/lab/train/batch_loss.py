"""Compute the loss of a batch: the sum of a task's losses over a matrix of questions and candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import torch
from torch import Tensor

from mpir.lab.train.batch_layout import Compared, batch_places, known_positives, own_places, same
from mpir.lab.train.examples import Example
from mpir.lab.train.mixture import Task

Answers = Mapping[str, AbstractSet[str]]
"""Known answers of each question, both normalised by `same`."""


def batch_loss(
    task: Task, rows: Sequence[Example], scores: Tensor, compared: Compared | None, listed: Answers
) -> Tensor:
    """Return the sum of a task's losses on N rows.

    Args:
        task: the task with the losses.
        rows: the rows of one batch.
        scores: the model's scores (N,) of the rows.
        compared: the rows' separately encoded texts, which in-batch losses compare with each other.
        listed: known answers of the questions, from the rows in memory.
    """
    own_layout = own_places(rows)
    labels = scores.new_tensor([row.label for row in rows])
    teacher = scores.new_tensor([0.0 if row.teacher is None else row.teacher for row in rows])
    losses = []
    for loss in task.losses:
        layout = batch_places(rows, answers(task, rows, listed)) if loss.in_batch else own_layout
        matrix = compared.products(layout) if loss.in_batch and compared is not None else layout.fill(scores)
        mask = torch.from_numpy(layout.mask).to(scores.device)
        losses.append(loss(matrix, layout.fill(teacher if loss.distilled else labels), mask))
    return torch.stack(losses).sum()


def answers(task: Task, rows: Sequence[Example], listed: Answers) -> Answers:
    """Return known answers of each question: from the rows in memory and, for triples, from the batch."""
    if not task.triples:
        return listed
    batch_positives = known_positives(rows)
    return {
        query: {*listed.get(query, ()), *batch_positives.get(query, ())}
        for query in {same(row.question) for row in rows}
    }
