"""The loss of a batch: each of a task's losses over the matrix of questions and candidates that it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import torch
from torch import Tensor

from mpir.train.batch_layout import batch_places, known_positives, own_places, same
from mpir.train.examples import Example
from mpir.train.mixture import Task
from mpir.train.two_tower import Compared

Answers = Mapping[str, AbstractSet[str]]
"""The texts that are known to answer each question, as `same` has both."""


def batch_loss(
    task: Task, rows: Sequence[Example], scores: Tensor, compared: Compared | None, listed: Answers
) -> Tensor:
    """The sum of a task's losses on N rows.

    Args:
        task: whose losses.
        rows: of one batch.
        scores: the model's (N,) of the rows.
        compared: the rows' texts where they were read apart, which in-batch losses compare with each other.
        listed: what is known to answer the questions, by the rows in memory.
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
    """What is known to answer each question: by the rows in memory and, of triples, by those of the batch."""
    if not task.triples:
        return listed
    batch_positives = known_positives(rows)
    return {
        query: {*listed.get(query, ()), *batch_positives.get(query, ())}
        for query in {same(row.question) for row in rows}
    }
