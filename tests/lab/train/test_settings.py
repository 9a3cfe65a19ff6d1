"""TrainingSettings: from a mixture's file and from options, in bounds."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mpir.errors import InputError, format_value
from mpir.lab.train.settings import TrainingSettings


def test_an_option_counts_more_than_the_mixture_and_that_more_than_the_default(tmp_path: Path) -> None:
    path = tmp_path / "mixture.json"
    path.write_text(json.dumps({"settings": {"checkpoint": "a", "batch_size": 7, "max_length": 64}}))
    settings = TrainingSettings.read(path, {"batch_size": 9, "max_length": None})
    assert (settings.checkpoint, settings.batch_size, settings.max_length, settings.seed) == ("a", 9, 64, 1)


def test_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "mixture.json").write_text("{}")
    with pytest.raises(InputError, match=r"mixture\.json: .*no checkpoint"):
        TrainingSettings.read(tmp_path / "mixture.json", {"checkpoint": None})


@pytest.mark.parametrize("checkpoint", [None, 5, "", " ", ["a"]])
def test_a_checkpoint_that_is_no_name(tmp_path: Path, checkpoint: Any) -> None:
    (tmp_path / "mixture.json").write_text(json.dumps({"settings": {"checkpoint": checkpoint}}))
    with pytest.raises(InputError, match=f"checkpoint is {re.escape(format_value(checkpoint))}"):
        TrainingSettings.read(tmp_path / "mixture.json", {})


@pytest.mark.parametrize("declared", [{"learningrate": 1}, ["batch_size"]])
def test_no_such_setting(tmp_path: Path, declared: Any) -> None:
    (tmp_path / "mixture.json").write_text(json.dumps({"settings": declared}))
    with pytest.raises(InputError, match=r"mixture\.json: settings: .*adam_epsilon"):
        TrainingSettings.read(tmp_path / "mixture.json", {})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"batch_size": 0}, "setting batch_size is 0"),
        ({"batch_size": 2.5}, "setting batch_size is 2.5"),
        ({"learning_rate": "high"}, "learning_rate is 'high'"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
        ({"patience": True}, "patience is True"),
        ({"precision": "int8"}, "precision is 'int8'"),
    ],
)
def test_values_out_of_bounds(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TrainingSettings(checkpoint="checkpoint", **values)
