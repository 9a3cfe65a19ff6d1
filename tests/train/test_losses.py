"""Losses by hand on a few rows."""

import math

import pytest
import torch
from torch import tensor

from mpir.train.losses import LOSSES

LOGITS = tensor([2.0, 0.0, 1.0, 3.0])
LABELS = tensor([1.0, 0.0, 0.0, 1.0])
GROUPS = tensor([0, 0, 0, 1])  # the second question has no negative


def test_binary_cross_entropy() -> None:
    expected = [math.log1p(math.exp(-2)), math.log(2), math.log1p(math.e), math.log1p(math.exp(-3))]
    assert LOSSES["bce"](LOGITS, LABELS, GROUPS).item() == pytest.approx(sum(expected) / 4)


def test_listwise_sets_each_positive_against_its_own_question() -> None:
    expected = -math.log(math.exp(2) / (math.exp(2) + math.exp(0) + math.exp(1)))
    assert LOSSES["listwise"](LOGITS, LABELS, GROUPS).item() == pytest.approx(expected)


def test_pairwise_compares_inside_a_question() -> None:
    expected = (math.log1p(math.exp(-2)) + math.log1p(math.exp(-1))) / 2
    assert LOSSES["pairwise"](LOGITS, LABELS, GROUPS).item() == pytest.approx(expected)


@pytest.mark.parametrize("name", ["listwise", "pairwise"])
def test_without_rivals_nothing_is_added_and_gradients_exist(name: str) -> None:
    logits = tensor([1.0, 2.0], requires_grad=True)
    loss = LOSSES[name](logits, tensor([1.0, 1.0]), tensor([0, 1]))
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == 0.0
    assert logits.grad is not None
    assert torch.equal(logits.grad, torch.zeros(2))


@pytest.mark.parametrize(("name", "top"), [("mse5", 5.0), ("mse4", 4.0)])
def test_squared_error_is_on_the_scale(name: str, top: float) -> None:
    loss = LOSSES[name](tensor([0.0, 100.0]), tensor([0.0, top]), tensor([0, 1]))
    assert loss.item() == pytest.approx(0.5**2 / 2)
