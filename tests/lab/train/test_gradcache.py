"""Batches that are read twice, part by part: the gradients are those of the whole batch."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from mpir.errors import InputError
from mpir.lab.train.examples import Example
from mpir.lab.train.losses import loss_named
from mpir.lab.train.mixture import Task
from mpir.lab.train.schedule import Batch
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.trainer import FineTuner, backward_in_parts
from mpir.models.late_interaction.late import LateInteraction
from mpir.models.vectors.embedding import Pooling

CPU = torch.device("cpu")
QUESTIONS = ("does aspirin thin blood", "is a gene in the cell", "does aspirin thin blood", "risk of heart attack")
POSITIVES = ("yes aspirin does thin blood", "a gene is in a cell .", "aspirin .", "patients and the trial")
NEGATIVES = ("the cell is in a gene", "no", "placebo", "yes aspirin does thin blood")
ROWS = [
    Example(group=str(i), question=question, sentence=text, label=label, teacher=2.0 * label - i)
    for i, question in enumerate(QUESTIONS)
    for text, label in ((POSITIVES[i], 1.0), (NEGATIVES[i], 0.0))
]


def gradients(tuner: FineTuner) -> list[torch.Tensor]:
    return [parameter.grad.clone() for parameter in tuner.model.parameters() if parameter.grad is not None]


@pytest.mark.parametrize("losses", [["in-batch"], ["triplet", "ranknet"], ["in-batch", "apart-margin-mse"]])
@pytest.mark.parametrize("size", [1, 3, 100])
def test_the_gradients_are_those_of_the_whole_batch(
    losses: list[str], size: int, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    """A tiny model without dropout, and steps of two batches."""
    settings = TrainingSettings(checkpoint=str(tiny_checkpoint), precision="fp32", gradient_accumulation_steps=2)
    tasks = [
        Task(
            name="dense",
            losses=tuple(map(loss_named, losses)),
            train=(([ROWS], 1.0),),
            dev=ROWS,
            pooling=Pooling("max", "cosine"),
        )
    ]
    result = []
    for number, first in enumerate((settings, replace(settings, mini_batch_size=size))):
        tuner = FineTuner(first, tasks, tmp_path / str(number), device="cpu")
        for module in tuner.model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        tuner.model.train()
        values = [tuner._backward(Batch(0, rows)).item() for rows in (ROWS, ROWS[:4])]
        result.append((values, gradients(tuner)))
    (value, complete), (second, sections) = result
    assert second == pytest.approx(value, rel=1e-5)
    assert len(complete) == len(sections) > 10
    for first, two in zip(complete, sections, strict=True):
        assert (two - first).norm() <= 1e-4 * first.norm() + 1e-6
    assert max(first.abs().max().item() for first in complete) > 1e-3


def test_a_part_has_the_same_dropout_in_both_passes() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5))
    inputs = torch.randn(7, 4).split([3, 3, 1])
    weights = torch.randn(7, 6)

    def loss(vectors: torch.Tensor) -> torch.Tensor:
        return (vectors @ vectors.T).logsumexp(dim=1).sum() + (weights * vectors).sum()

    torch.manual_seed(1)
    complete = loss(torch.cat([model(item) for item in inputs]))
    (3 * complete).backward()
    expected = model[0].weight.grad.clone()
    after = torch.rand(1)
    model.zero_grad()
    torch.manual_seed(1)
    passes = [lambda item=item: model(item) for item in inputs]
    result = backward_in_parts(passes, loss, lambda value: 3 * value, CPU)
    torch.testing.assert_close(result, complete.detach())
    torch.testing.assert_close(model[0].weight.grad, expected)
    assert torch.equal(torch.rand(1), after)  # what follows is as random as after one pass


def test_one_part_is_held_at_a_time() -> None:
    weight, happened = torch.ones(1, requires_grad=True), []

    def read(number: int) -> torch.Tensor:
        happened.append(f"read {number}" if torch.is_grad_enabled() else f"look {number}")
        vectors = weight * torch.ones(2, 1)
        if vectors.requires_grad:
            vectors.register_hook(lambda _: happened.append(f"back {number}"))
        return vectors

    backward_in_parts([lambda: read(0), lambda: read(1)], lambda vectors: vectors.sum() ** 2, lambda value: value, CPU)
    assert happened == ["look 0", "look 1", "read 0", "back 0", "read 1", "back 1"]
    assert weight.grad is not None
    assert weight.grad.item() == 2 * 4 * 4  # of (4 w)² at w = 1


def test_token_vectors_have_no_parts(tmp_path: Path) -> None:
    late = LateInteraction.from_options({"form": "states"})
    tasks = [Task(name="late", losses=(loss_named("in-batch"),), train=(([ROWS], 1.0),), dev=ROWS, pooling=late)]
    with pytest.raises(InputError, match="late: mini_batch_size"):
        FineTuner(TrainingSettings(checkpoint="nowhere", mini_batch_size=2), tasks, tmp_path, device="cpu")
