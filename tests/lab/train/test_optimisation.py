"""Steps of gradients: of as many batches as are added up, with the learning rates that parameters have."""

import pytest
import torch
from torch import nn

from mpir.lab.train.optimisation import Optimisation, parameter_groups
from mpir.lab.train.settings import TrainingSettings

CPU = torch.device("cpu")


class Classifier(nn.Module):
    """A body and a head."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body, self.classifier = nn.Linear(2, 2), nn.Linear(2, 1)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.body(values)).sum()


def optimisation(model: nn.Module, batches: int = 5) -> Optimisation:
    settings = TrainingSettings(
        checkpoint="c", precision="fp32", gradient_accumulation_steps=2, learning_rate=0.1, warmup=0.0
    )
    return Optimisation(model, settings, device=CPU, batches=batches, falls=lambda: 0)


def train(model: nn.Module, steps: Optimisation, numbers: range) -> None:
    for batch in numbers:
        steps.scaled(model(torch.full((1, 2), batch + 1.0)), batch).backward()
        steps.step(batch)


@pytest.mark.parametrize(("batch", "share"), [(0, 0.5), (1, 0.5), (3, 0.5), (4, 1.0)])
def test_a_loss_counts_by_the_batches_of_its_step(batch: int, share: float) -> None:
    assert optimisation(Classifier()).scaled(torch.tensor(3.0), batch).item() == 3 * share


def test_parameters_change_where_a_step_ends() -> None:
    model = Classifier()
    steps, weights, changed = optimisation(model), [], []
    for batch in range(5):
        weights.append(model.body.weight.detach().clone())
        train(model, steps, range(batch, batch + 1))
        changed.append(not torch.equal(weights[-1], model.body.weight))
    assert changed == [False, True, False, True, True]


def test_a_step_of_which_all_pairs_were_skipped_moves_the_rate_alone() -> None:
    model = Classifier()
    steps, before = optimisation(model), {name: value.clone() for name, value in model.state_dict().items()}
    rate = steps.optimiser.param_groups[0]["lr"]
    steps.step(1)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert steps.optimiser.param_groups[0]["lr"] < rate


def test_a_restored_state_goes_on_as_if_nothing_had_happened() -> None:
    straight, halted, resumed = Classifier(), Classifier(), Classifier()
    train(straight, optimisation(straight), range(5))
    first = optimisation(halted)
    train(halted, first, range(2))
    resumed.load_state_dict(halted.state_dict())
    second = optimisation(resumed)
    second.restore(first.state())
    train(resumed, second, range(2, 5))
    for name, value in straight.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name])


def test_matrices_decay_and_heads_may_learn_faster() -> None:
    model = Classifier()
    settings = TrainingSettings(checkpoint="c", learning_rate=0.1, weight_decay=0.2, head_rate=3.0)
    matrices, vectors, head = parameter_groups(model, settings)
    assert [matrices["params"][0] is model.body.weight, matrices["weight_decay"]] == [True, 0.2]
    assert [vectors["params"][0] is model.body.bias, vectors["weight_decay"]] == [True, 0.0]
    assert len(head["params"]) == 2
    assert head["lr"] == pytest.approx(0.3)
    assert len(parameter_groups(model, TrainingSettings(checkpoint="c"))) == 2
