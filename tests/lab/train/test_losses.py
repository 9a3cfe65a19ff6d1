"""Losses by hand on a few rows."""

import math
from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import tensor

from mpir.errors import InputError
from mpir.lab.train.batch_layout import batch_places, known_positives, own_places
from mpir.lab.train.examples import Example
from mpir.lab.train.losses import LOSSES, loss_named

LOGITS = tensor([2.0, 0.0, 1.0, 3.0])
LABELS = tensor([1.0, 0.0, 0.0, 1.0])
GROUPS = tensor([0, 0, 0, 1])  # the second question has no negative


def loss(name: str, logits: torch.Tensor, targets: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
    """The loss of rows, which are laid out as training does it."""
    rows = [Example(group=str(group), question="", sentence="", label=0.0) for group in groups.tolist()]
    positions = own_places(rows)
    return loss_named(name)(positions.fill(logits), positions.fill(targets), torch.from_numpy(positions.mask))


def test_binary_cross_entropy() -> None:
    expected = [math.log1p(math.exp(-2)), math.log(2), math.log1p(math.e), math.log1p(math.exp(-3))]
    assert loss("bce", LOGITS, LABELS, GROUPS).item() == pytest.approx(sum(expected) / 4)


def test_listwise_sets_each_positive_against_its_own_question() -> None:
    expected = -math.log(math.exp(2) / (math.exp(2) + math.exp(0) + math.exp(1)))
    assert loss("listwise", LOGITS, LABELS, GROUPS).item() == pytest.approx(expected)


def test_pairwise_compares_inside_a_question() -> None:
    expected = (math.log1p(math.exp(-2)) + math.log1p(math.exp(-1))) / 2
    assert loss("pairwise", LOGITS, LABELS, GROUPS).item() == pytest.approx(expected)


@pytest.mark.parametrize(
    "name", ["listwise", "pairwise", "lambda", "margin-mse", "kl", "triplet", "ranknet", "in-batch", "apart-kl"]
)
def test_without_rivals_nothing_is_added_and_gradients_exist(name: str) -> None:
    logits = tensor([1.0, 2.0], requires_grad=True)
    result = loss(name, logits, tensor([1.0, 1.0]), tensor([0, 1]))
    result.backward()  # type: ignore[no-untyped-call]
    assert result.item() == 0.0
    assert logits.grad is not None
    assert torch.equal(logits.grad, torch.zeros(2))


@pytest.mark.parametrize(("name", "top"), [("mse5", 5.0), ("mse4", 4.0)])
def test_squared_error_is_on_the_scale(name: str, top: float) -> None:
    result = loss(name, tensor([0.0, 100.0]), tensor([0.0, top]), tensor([0, 1]))
    assert result.item() == pytest.approx(0.5**2 / 2)


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
    assert loss("lambda", logits, labels, groups).item() == pytest.approx(expected / 2)


def test_margins_are_the_teachers_inside_a_question() -> None:
    teacher = tensor([4.0, 1.0, 1.0, 9.0])
    # the first question's differences: 2 against 3, 1 against 3, -1 against 0
    expected = ((2 - 3) ** 2 + (1 - 3) ** 2 + (-1 - 0) ** 2) / 3
    assert loss("margin-mse", LOGITS, teacher, GROUPS).item() == pytest.approx(expected)


def test_each_output_is_the_teachers() -> None:
    assert loss("teacher-mse", LOGITS, tensor([2.0, 1.0, 1.0, 5.0]), GROUPS).item() == pytest.approx((1 + 4) / 4)


def test_a_triplet_wants_its_positive_nearer_by_the_margin() -> None:
    cosines = tensor([0.9, 0.4, 0.7, 0.1])  # the positive, its two negatives, and a question without one
    assert loss("triplet", cosines, LABELS, GROUPS).item() == pytest.approx((0.5 + 0.8) / 2)
    assert loss("triplet(margin=0.25)", cosines, LABELS, GROUPS).item() == pytest.approx((0.0 + 0.05) / 2)


def test_a_temperature_divides_the_scores() -> None:
    expected = (math.log1p(math.exp(-2 / 0.5)) + math.log1p(math.exp(-1 / 0.5))) / 2
    assert loss("ranknet(temperature=0.5)", LOGITS, LABELS, GROUPS).item() == pytest.approx(expected)


def test_divergence_from_the_teacher() -> None:
    teacher = tensor([1.0, 1.0, -1.0, 5.0])

    def softmax(values: list[float]) -> list[float]:
        return [math.exp(value) / sum(map(math.exp, values)) for value in values]

    own_value, target = softmax([2.0, 0.0, 1.0]), softmax([1.0, 1.0, -1.0])
    expected = sum(t * math.log(t / o) for t, o in zip(target, own_value, strict=True))
    assert loss("kl", LOGITS, teacher, GROUPS).item() == pytest.approx(expected)
    assert loss("kl", teacher, teacher, GROUPS).item() == pytest.approx(0.0, abs=1e-6)
    assert loss("apart-kl(temperature=1)", LOGITS, teacher, GROUPS).item() == pytest.approx(expected)


ROWS = [
    Example(group="1", question="What thins blood?", sentence="Aspirin does.", label=1.0),
    Example(group="1", question="What thins blood?", sentence="Genes are in cells.", label=0.0),
    Example(group="2", question="What is in cells?", sentence="genes are  in cells.", label=1.0),
    Example(
        group="3", question="what thins blood? ", sentence="Warfarin does.", label=1.0
    ),  # the first question again, in other capitals
    Example(group="2", question="What is in cells?", sentence="What thins blood?", label=0.0),
]


def test_in_a_batch_every_text_is_every_questions_candidate() -> None:
    known = known_positives(
        [*ROWS, Example(group="2", question="What is in cells?", sentence="Aspirin does.", label=1.0)]
    )
    positions = batch_places(ROWS, known)
    # candidates: aspirin, genes (twice), warfarin, the first question; questions: the first (twice), the second
    assert positions.fill(tensor([row.label for row in ROWS])).tolist() == [[1, 0, 1, 0], [0, 1, 0, 0]]
    # the first question is no answer to itself; aspirin is known to answer the second one, too
    assert positions.mask.tolist() == [[True, True, True, False], [False, True, True, True]]


def test_in_batch_softmax_is_that_of_the_matrix() -> None:
    left, right = torch.eye(2)[[0, 0, 1, 0, 1]], tensor([[0.5, 0.1], [0.2, 0.9], [0.2, 0.9], [0.3, 0.4], [0.0, 0.6]])
    positions = batch_places(ROWS, {})
    scores = positions.products(left, right)
    assert torch.equal(scores, tensor([[0.5, 0.2, 0.3, 0.0], [0.1, 0.9, 0.4, 0.6]]))
    result = loss_named("in-batch")(
        scores, positions.fill(tensor([row.label for row in ROWS])), torch.from_numpy(positions.mask)
    )
    own_value, alternatives = (0.5, 0.3), 0.2
    first = [math.log1p(math.exp((alternatives - item) / 0.05)) for item in own_value]
    second = math.log(1 + sum(math.exp((item - 0.9) / 0.05) for item in (0.1, 0.4, 0.6)))
    assert result.item() == pytest.approx((sum(first) + second) / 3, rel=1e-4)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_a_loss_is_written_as_it_is_read(name: str) -> None:
    assert str(loss_named(name)) == name
    assert loss_named(name) == LOSSES[name]
    for parameter, _ in LOSSES[name].parameters:
        changed = loss_named(f"{name}({parameter}=0.125)")
        assert changed != LOSSES[name]
        assert str(changed) == f"{name}({parameter}=0.125)"
        assert loss_named(str(changed)) == changed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("magic", "loss is 'magic'"),
        ("triplet(margin)", "margin is ''"),
        ("triplet(margin=0)", "margin is '0'"),
        ("triplet(margin=nan)", "margin is 'nan'"),
        ("triplet(width=1)", "'width'; triplet .*margin"),
        ("bce(margin=1)", "'margin'; bce .*none"),
    ],
)
def test_bad_losses(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        loss_named(text)


BATCHES = st.lists(
    st.tuples(st.integers(-40, 40), st.sampled_from([0.0, 1.0]), st.integers(0, 3)),
    min_size=2,
    max_size=12,
    unique_by=lambda row: row[0],  # distinct scores: the order of equal ones is the order of the rows
)


def value(name: str, rows: list[tuple[int, float, int]], shift: float = 0.0) -> float:
    logits = tensor([score / 8 + shift for score, _, _ in rows])
    return loss(name, logits, tensor([label for _, label, _ in rows]), tensor([g for _, _, g in rows])).item()


@given(rows=BATCHES, name=st.sampled_from(sorted(LOSSES)), random=st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(rows: list[tuple[int, float, int]], name: str, random: Random) -> None:
    shuffled = random.sample(rows, len(rows))
    assert value(name, shuffled) == pytest.approx(value(name, rows), abs=1e-5, rel=1e-5)


@given(
    rows=BATCHES,
    name=st.sampled_from(["listwise", "pairwise", "lambda", "margin-mse", "kl", "triplet"]),
    shift=st.integers(-5, 5),
)
def test_what_is_added_to_all_rows_does_not_matter(rows: list[tuple[int, float, int]], name: str, shift: int) -> None:
    assert value(name, rows, shift) == pytest.approx(value(name, rows), abs=1e-5, rel=1e-5)


@given(rows=BATCHES, name=st.sampled_from(sorted(LOSSES)))
def test_gradients_are_finite(rows: list[tuple[int, float, int]], name: str) -> None:
    logits = tensor([score / 8 for score, _, _ in rows], requires_grad=True)
    loss(name, logits, tensor([label for _, label, _ in rows]), tensor([g for _, _, g in rows])).backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
