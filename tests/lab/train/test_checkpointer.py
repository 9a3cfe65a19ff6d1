"""The state of a run: what is saved comes back, and another run's is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from mpir.errors import ArtefactError
from mpir.files.checksum import write_bytes_with_checksum
from mpir.lab.train.checkpointer import Checkpointer
from mpir.lab.train.negative_sampler import SampledNegatives
from mpir.lab.train.optimisation import Optimisation
from mpir.lab.train.run_state import Counters, RandomState, RunIdentity, RunState
from mpir.lab.train.settings import TrainingSettings

CPU = torch.device("cpu")
RUN = RunIdentity(settings={"seed": 1, "batch_size": 8}, schedule="s", start="c", data="d", dev="v")


def run_state(best: float = 0.5) -> RunState:
    """The state of a model of one layer after a step."""
    model = nn.Linear(2, 1)
    settings = TrainingSettings(checkpoint="c", precision="fp32")
    optimisation = Optimisation(model, settings, device=CPU, batches=4, falls=lambda: 0)
    model(torch.ones(1, 2)).sum().backward()
    optimisation.step(0)
    return RunState(
        run=RUN,
        counters=Counters(step=3, best=best, stale=1, falls=2),
        negatives=SampledNegatives(2, ["a", None], 5),
        model=model.state_dict(),
        optimisation=optimisation.state(),
        random=RandomState.current(CPU),
    )


def resumed(folder: Path, run: RunIdentity = RUN) -> RunState:
    """The state that a run is handed."""
    states: list[RunState] = []
    assert Checkpointer(folder).resume(run, states.append)
    return states[0]


def write_values(folder: Path, values: dict[str, Any]) -> None:
    with write_bytes_with_checksum(folder / "state.pt") as stream:
        torch.save(values, stream)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run's folder, with its best checkpoint."""
    (tmp_path / "best").mkdir()
    (tmp_path / "best/config.json").write_text("{}")
    return tmp_path


def test_what_is_saved_comes_back(folder: Path) -> None:
    saved = run_state()
    Checkpointer(folder).save(saved)
    loaded = resumed(folder)
    assert (loaded.run, loaded.counters) == (saved.run, saved.counters)
    assert (loaded.negatives.step, list(loaded.negatives.texts), loaded.negatives.skipped) == (2, ["a", None], 5)
    assert all(torch.equal(value, saved.model[name]) for name, value in loaded.model.items())
    before, after = (state.optimisation for state in (saved, loaded))
    assert [after[name] == before[name] for name in ("rate", "scaler")] == [True, True]
    moments = [state["optimiser"]["state"][0]["exp_avg"] for state in (before, after)]
    assert torch.equal(*moments)
    assert torch.equal(loaded.random.cpu, saved.random.cpu)
    assert loaded.random.device is None


def test_without_a_state_a_run_begins(tmp_path: Path) -> None:
    assert not Checkpointer(tmp_path / "nowhere").resume(RUN, lambda state: pytest.fail(f"{state}"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schedule": "x"}, "other settings;"),
        (
            {"schedule": "x", "settings": {"seed": 2, "batch_size": 8}},
            r"settings \(seed was 2, .*\b1\)",
        ),
        (
            {"schedule": "x", "settings": {"seed": 1, "rows": 8}},
            r"settings \(another version",
        ),
        ({"start": "x"}, "another checkpoint"),
        ({"data": "x"}, "other data"),
        ({"dev": "x"}, "other dev"),
    ],
)
def test_another_runs_state_is_refused(folder: Path, change: dict[str, Any], words: str) -> None:
    Checkpointer(folder).save(replace(run_state(), run=replace(RUN, **change)))
    with pytest.raises(ArtefactError, match=rf"state\.pt: .*{words}"):
        resumed(folder)


@pytest.mark.parametrize("value", [None, (3, 0.5), {"step": 3}])
def test_a_state_of_another_form_is_damaged(folder: Path, value: Any) -> None:
    write_values(folder, {**run_state().to_values(), "counters": value})
    with pytest.raises(ArtefactError, match=r"state\.pt: is damaged"):
        resumed(folder)


def test_a_state_that_does_not_fit_the_model_is_damaged(folder: Path) -> None:
    Checkpointer(folder).save(run_state())
    with pytest.raises(ArtefactError, match=r"state\.pt: is damaged"):
        Checkpointer(folder).resume(RUN, lambda state: nn.Linear(3, 1).load_state_dict(dict(state.model)) and None)


def test_the_best_checkpoint_must_be_there_once_there_was_one(tmp_path: Path) -> None:
    Checkpointer(tmp_path).save(run_state(best=-float("inf")))
    assert resumed(tmp_path).counters.step == 3
    Checkpointer(tmp_path).save(run_state())
    with pytest.raises(ArtefactError, match=r"best: .*gone; .*state\.pt"):
        resumed(tmp_path)


def test_a_look_at_dev_counts() -> None:
    counters = Counters()
    looks = [0.5, 0.4, 0.5, 0.6, 0.1, float("nan")]
    assert [counters.record(figure, 2) for figure in looks] == [True, False, False, True, False, False]
    assert (counters.best, counters.stale, counters.falls) == (0.6, 2, 2)
    assert not counters.record(0.1, None)
    assert (counters.stale, counters.falls) == (3, 2)
