"""Losses by hand on a few rows."""

import math
from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
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


@pytest.mark.parametrize("name", ["listwise", "pairwise", "lambda", "margin-mse"])
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


def test_lambda_weighs_each_pair_by_what_it_does_to_ndcg() -> None:
    """Ranks by score: the second question's rows are 1 and 2, the first's 3.0 → 1, 1.0 → 2, 0.5 → 3."""
    logits, labels = tensor([0.5, 3.0, 1.0, 2.0, 5.0]), tensor([2.0, 0.0, 1.0, 1.0, 0.0])
    groups = tensor([0, 0, 0, 1, 1])
    first, second, third = 1.0, 1 / math.log2(3), 1 / math.log2(4)
    ideal = 3 * first + 1 * second
    pairs = [  # (gain difference, discount difference, logit difference)
        (3, first - third, 0.5 - 3.0),
        (2, second - third, 0.5 - 1.0),
        (1, first - second, 1.0 - 3.0),
    ]
    expected = sum(gain * discount / ideal * math.log1p(math.exp(-gap)) for gain, discount, gap in pairs)
    expected += 1 * (first - second) / 1.0 * math.log1p(math.exp(3.0))
    assert LOSSES["lambda"](logits, labels, groups).item() == pytest.approx(expected / 2)


def test_margins_are_the_teachers_inside_a_question() -> None:
    teacher = tensor([4.0, 1.0, 1.0, 9.0])
    # the first question's differences: 2 against 3, 1 against 3, -1 against 0
    expected = ((2 - 3) ** 2 + (1 - 3) ** 2 + (-1 - 0) ** 2) / 3
    assert LOSSES["margin-mse"](LOGITS, teacher, GROUPS).item() == pytest.approx(expected)


def test_each_output_is_the_teachers() -> None:
    assert LOSSES["teacher-mse"](LOGITS, tensor([2.0, 1.0, 1.0, 5.0]), GROUPS).item() == pytest.approx((1 + 4) / 4)


BATCHES = st.lists(
    st.tuples(st.integers(-40, 40), st.sampled_from([0.0, 1.0]), st.integers(0, 3)),
    min_size=2,
    max_size=12,
    unique_by=lambda row: row[0],  # distinct scores: the order of equal ones is the order of the rows
)


def value(name: str, rows: list[tuple[int, float, int]], shift: float = 0.0) -> float:
    logits = tensor([score / 8 + shift for score, _, _ in rows])
    return LOSSES[name](logits, tensor([label for _, label, _ in rows]), tensor([g for _, _, g in rows])).item()


@given(rows=BATCHES, name=st.sampled_from(sorted(LOSSES)), random=st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(rows: list[tuple[int, float, int]], name: str, random: Random) -> None:
    shuffled = random.sample(rows, len(rows))
    assert value(name, shuffled) == pytest.approx(value(name, rows), abs=1e-5)


@given(rows=BATCHES, name=st.sampled_from(["listwise", "pairwise", "lambda", "margin-mse"]), shift=st.integers(-5, 5))
def test_what_is_added_to_all_rows_does_not_matter(rows: list[tuple[int, float, int]], name: str, shift: int) -> None:
    assert value(name, rows, shift) == pytest.approx(value(name, rows), abs=1e-5)


@given(rows=BATCHES, name=st.sampled_from(sorted(LOSSES)))
def test_gradients_are_finite(rows: list[tuple[int, float, int]], name: str) -> None:
    logits = tensor([score / 8 for score, _, _ in rows], requires_grad=True)
    LOSSES[name](logits, tensor([label for _, label, _ in rows]), tensor([g for _, _, g in rows])).backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
