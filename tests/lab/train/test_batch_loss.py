"""The loss of a batch by hand: what each loss is given, and which texts count against a question."""

import math
from typing import Any

import pytest
import torch

from mpir.lab.train.batch_layout import ByVector
from mpir.lab.train.batch_loss import answers, batch_loss
from mpir.lab.train.examples import Example
from mpir.lab.train.losses import loss_named
from mpir.lab.train.mixture import Task

ROWS = [
    Example(group="a", question="aspirin", sentence="thin blood", label=1.0, teacher=2.0),
    Example(group="a", question="aspirin", sentence="a gene", label=0.0, teacher=-1.0),
    Example(group="b", question="cell", sentence="a gene", label=1.0, teacher=3.0),
]


def task(*losses: str, **options: Any) -> Task:
    return Task(name="t", losses=tuple(map(loss_named, losses)), train=(), dev=ROWS, **options)


def test_losses_add_up() -> None:
    scores = torch.tensor([1.0, -1.0, 0.5])
    separate = [batch_loss(task(name), ROWS, scores, None, {}).item() for name in ("bce", "listwise")]
    assert batch_loss(task("bce", "listwise"), ROWS, scores, None, {}).item() == pytest.approx(sum(separate))
    cross_entropy = sum(math.log1p(math.exp(-score)) for score in (1.0, 1.0, 0.5)) / 3
    assert separate[0] == pytest.approx(cross_entropy)


def test_a_distilled_loss_is_given_the_teachers_scores() -> None:
    assert batch_loss(task("teacher-mse"), ROWS, torch.tensor([2.0, -1.0, 3.0]), None, {}).item() == 0.0
    assert batch_loss(task("teacher-mse"), ROWS, torch.tensor([2.0, -1.0, 6.0]), None, {}).item() > 0


def test_in_batch_losses_compare_the_texts_of_all_rows() -> None:
    aspirin, cell, blood, gene = torch.tensor([[0.2, 0.0], [0.0, 0.2], [0.2, 0.1], [0.0, 0.2]])
    compared = ByVector(torch.stack([aspirin, aspirin, cell]), torch.stack([blood, gene, gene]))
    listed = {"aspirin": {"thin blood"}, "cell": {"a gene"}}
    # in units of the temperature, 0.05: aspirin scores 0.8 and 0, and cell 0.8 and, with the other's text, 0.4
    first, second = (math.log1p(math.exp(-margin)) for margin in (0.8, 0.4))
    strict = batch_loss(task("in-batch"), ROWS, compared.pairs(), compared, listed)
    assert strict.item() == pytest.approx((first + second) / 2)
    listed["cell"].add("thin blood")  # which then does not count against it
    assert batch_loss(task("in-batch"), ROWS, compared.pairs(), compared, listed).item() == pytest.approx(first)


def test_triples_of_the_batch_are_known_answers() -> None:
    listed = {"aspirin": {"a risk"}}
    assert answers(task("in-batch"), ROWS, listed) is listed
    with_triples = answers(task("in-batch", triples=((object(), 1.0),)), ROWS, listed)
    assert with_triples == {"aspirin": {"a risk", "thin blood"}, "cell": {"a gene"}}
    assert listed == {"aspirin": {"a risk"}}
