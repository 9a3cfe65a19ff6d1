"""An interrupted training ends as an uninterrupted one, and another run's state is not resumed."""

import json
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from mpir.errors import ArtefactError, OutputError
from mpir.lab.train.mixture import read_mixture
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.trainer import FineTuner
from tests.damage import check_flips
from tests.lab.train.labelled_rows import rows, write


def parameters(tuner: FineTuner) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in tuner.model.parameters()])


@pytest.mark.parametrize("save_every", [2, 3])  # the gradients of two batches make a step, and 3 cuts one in half
def test_an_interrupted_run_ends_as_an_uninterrupted_one(
    mixture: Path, settings: TrainingSettings, tmp_path: Path, *, caplog: pytest.LogCaptureFixture, save_every: int
) -> None:
    tasks, settings = read_mixture(mixture), replace(settings, save_every=save_every)
    complete = FineTuner(settings, tasks, tmp_path / "whole")
    complete.run()
    first = FineTuner(settings, tasks, tmp_path / "parts")
    original = first.train_step

    def stop_at_five() -> float:
        if first.counters.step == 5:
            raise KeyboardInterrupt
        return original()

    first.train_step = stop_at_five  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        first.run()
    second = FineTuner(settings, tasks, tmp_path / "parts")
    caplog.set_level("INFO", "mpir")
    second.run()
    assert f"parts/state.pt: resuming after 4 of {len(complete.batches)}" in caplog.text
    assert torch.equal(parameters(second), parameters(complete))
    assert second.counters.best == complete.counters.best
    weights = [(tmp_path / name / "best/model.safetensors").read_bytes() for name in ("parts", "whole")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("tail", [b'{"step": 4, "ta', b"\0" * 40])
@pytest.mark.parametrize("saved", [True, False])
def test_a_cut_line_of_the_log_is_dropped(
    mixture: Path, settings: TrainingSettings, tmp_path: Path, tail: bytes, saved: bool
) -> None:
    """A full disk leaves the beginning of a line, and a lost power leaves zeros, perhaps before a state is saved."""
    settings = replace(settings, max_steps=2)
    FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    log = tmp_path / "run/log.jsonl"
    complete = log.read_bytes()
    log.write_bytes(complete + tail)
    if not saved:
        (tmp_path / "run/state.pt").unlink()
    FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    assert log.read_bytes().startswith(complete)
    steps = [json.loads(line).get("step") for line in log.read_text().splitlines()]
    assert steps == [0, 1, 2] * (1 if saved else 2)


def test_a_run_of_other_settings_is_not_taken_up(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    second = FineTuner(replace(settings, learning_rate=1e-3), read_mixture(mixture), tmp_path / "run")
    with pytest.raises(ArtefactError, match=r"settings \(learning_rate was 0\.01, .*\b0\.001\)"):
        second.run()


def test_a_run_from_a_checkpoint_that_was_replaced_is_not_taken_up(
    mixture: Path, settings: TrainingSettings, tmp_path: Path
) -> None:
    FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    weights = Path(settings.checkpoint) / "model.safetensors"
    save_file({name: value + 1 for name, value in load_file(weights).items()}, weights, metadata={"format": "pt"})
    second = FineTuner(settings, read_mixture(mixture), tmp_path / "run")
    with pytest.raises(ArtefactError, match="another checkpoint"):
        second.run()


def test_only_one_run_at_a_time_writes_a_folder(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    first, second = (FineTuner(settings, read_mixture(mixture), tmp_path / "run") for _ in range(2))
    original, refused = first.train_step, []

    def step() -> float:
        with pytest.raises(OutputError, match="run: another process") as error:
            second.run()
        refused.append(error)
        return original()

    first.train_step = step  # type: ignore[method-assign]
    first.run()
    assert len(refused) == len(first.batches)
    second.run()
    assert torch.equal(parameters(second), parameters(first))


def test_a_run_on_other_data_is_not_taken_up(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    write(mixture.parent / "sts.jsonl", rows(4.0))
    second = FineTuner(settings, read_mixture(mixture), tmp_path / "run")
    with pytest.raises(ArtefactError, match="other data"):
        second.run()


def test_a_damaged_state(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run")
    tuner.run()
    complete = torch.load(tmp_path / "run/state.pt", weights_only=True)
    (tmp_path / "run/state.pt").write_bytes((tmp_path / "run/state.pt").read_bytes()[:1000])
    with pytest.raises(ArtefactError, match=r"state\.pt: is damaged"):
        FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    torch.save({**complete, "counters": None}, tmp_path / "run/state.pt")
    with pytest.raises(ArtefactError, match=r"state\.pt: is damaged"):
        FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()


def test_every_changed_byte_of_a_state_is_refused(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run")

    def read() -> Any:
        tuner._resume()
        return tuner.counters.step, tuner.counters.best, float(parameters(tuner).sum())

    assert check_flips([tmp_path / "run/state.pt"], read) > 95


def test_a_run_is_not_resumed_with_other_dev_rows(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    tasks = read_mixture(mixture)
    FineTuner(settings, tasks, tmp_path / "run", device="cpu").run()
    alternatives = [replace(task, dev=task.dev[:2]) for task in tasks]
    with pytest.raises(ArtefactError, match="other dev rows"):
        FineTuner(settings, alternatives, tmp_path / "run", device="cpu").run()


@pytest.mark.parametrize("evaluate_every, file", [(1, "best"), (3, "state.pt")])
def test_a_full_disk_is_named_and_the_same_command_goes_on(
    mixture: Path, settings: TrainingSettings, tmp_path: Path, evaluate_every: int, file: str
) -> None:
    tasks = read_mixture(mixture)
    settings = replace(settings, evaluate_every=evaluate_every)
    tuner = FineTuner(settings, tasks, tmp_path / "run", device="cpu")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))  # writing beyond it fails as on a full disk
    try:
        with pytest.raises(OutputError, match=rf"{file}: .*\(File too large\)"):
            tuner.run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    resumed = FineTuner(settings, tasks, tmp_path / "run", device="cpu").run()
    complete = FineTuner(settings, tasks, tmp_path / "whole", device="cpu").run()
    assert (resumed / "model.safetensors").read_bytes() == (complete / "model.safetensors").read_bytes()
