"""Training curves from a log."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from mpir.core.checksum import add_checksum
from mpir.errors import InputError
from mpir.lab.train.plots import _draw_losses, curves, read_log, smooth
from tests.damage import check_flips


def write(path: Path, *entries: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def test_smoothing_by_hand() -> None:
    positions, means = smooth([1.0, 3.0, 5.0, 7.0, 9.0], points=2)
    np.testing.assert_allclose(positions, [1.0, 3.5])
    np.testing.assert_allclose(means, [3.0, 8.0])
    np.testing.assert_allclose(smooth([4.0, 2.0])[1], [4.0, 2.0])


def test_a_step_logged_twice_counts_once(tmp_path: Path) -> None:
    steps = [{"step": i, "task": "sts", "loss": loss} for i, loss in ((0, 1.0), (1, 9.0), (1, 2.0))]
    look = {"step": 2, "dev": {"sts": 0.5}, "mean": 0.5}
    losses, looks = read_log(write(tmp_path / "log.jsonl", *steps, look))
    assert losses == {"sts": {0: 1.0, 1: 2.0}}
    assert looks == {2: {"sts": 0.5, "mean": 0.5}}


@pytest.mark.parametrize("looked", [False, True])
def test_a_picture(tmp_path: Path, looked: bool) -> None:
    steps = [{"step": i, "task": ("relevance", "sts")[i % 2], "loss": 1 / (i + 1)} for i in range(9)]
    looks = [{"step": 4, "dev": {"relevance": 0.5, "sts": 0.4}, "mean": 0.45}] * looked
    curves(write(tmp_path / "log.jsonl", *steps, *looks), tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_what_a_run_goes_back_behind_does_not_count(tmp_path: Path) -> None:
    """Begun anew with fewer steps in the same folder, or resumed from a state that was older than the kill."""
    steps = [{"step": i, "task": name, "loss": 9.0} for i, name in enumerate(["sts", "sia", "sts", "sts"])]
    looks = [{"step": i, "dev": {"sts": i / 10}, "mean": i / 10} for i in (2, 4)]
    repeated = [{"step": i, "task": "sts", "loss": 1.0} for i in range(2)]
    path = write(tmp_path / "log.jsonl", *steps[:2], looks[0], *steps[2:], looks[1], *repeated)
    assert read_log(path) == ({"sts": {0: 1.0, 1: 1.0}}, {})
    path = write(tmp_path / "log.jsonl", *steps[:2], looks[0], *steps[2:], looks[1], {**steps[2], "loss": 1.0})
    assert read_log(path) == ({"sts": {0: 9.0, 2: 1.0}, "sia": {1: 9.0}}, {2: {"sts": 0.2, "mean": 0.2}})


def test_every_changed_byte_of_a_log_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    steps = [{"step": i, "task": ("relevance", "sts")[i % 2], "loss": 1 / (i + 1)} for i in range(9)]
    looks = [{"step": 4, "dev": {"relevance": 0.5, "sts": 0.4}, "mean": 0.45}]
    path = write(tmp_path / "log.jsonl", *map(add_checksum, [*steps, *looks]))
    assert check_flips([path], lambda: read_log(path)) > 70


def test_nine_perspectives_are_all_drawn(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(9)]
    steps = [{"step": step, "task": name, "loss": 1.0} for step, name in enumerate(names * 2)]
    looks = [{"step": 18, "dev": dict.fromkeys(names, 0.5), "mean": 0.5}]
    curves(write(tmp_path / "log.jsonl", *steps, *looks), tmp_path / "curves.png")
    figure = Figure()
    axis = figure.subplots()
    _draw_losses(axis, read_log(tmp_path / "log.jsonl")[0])
    lines, labels = axis.get_legend_handles_labels()
    assert labels == names
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 9


def test_no_log_of_a_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"log\.jsonl: .*training step"):
        curves(write(tmp_path / "log.jsonl"), tmp_path / "curves.png")
    with pytest.raises(InputError, match=r"log\.jsonl:1: .*'loss' is missing"):
        curves(write(tmp_path / "log.jsonl", {"step": 1}), tmp_path / "curves.png")
