"""The precision and the progress of training on ordinary machines."""

import logging

import pytest
import torch

from mpir.errors import InputError
from mpir.lab.train.progress import ProgressLines, training_progress
from mpir.lab.train.settings import TrainingSettings
from mpir.models.devices.device import choose_dtype


def test_auto_is_the_precision_that_the_device_computes() -> None:
    device = torch.device("cpu")
    settings = TrainingSettings(checkpoint="c").on(device)
    assert settings.precision == {torch.bfloat16: "bf16", torch.float32: "fp32"}[choose_dtype("auto", [device])]
    assert TrainingSettings(checkpoint="c", precision="bf16").on(device).precision == "bf16"
    with pytest.raises(InputError, match="setting precision"):
        TrainingSettings(checkpoint="c", precision="fp8")


def test_lines_tell_how_far_training_is(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    lines = ProgressLines(total=4, initial=1, unit="batches", interval=0.0)
    lines.set_postfix(loss="0.500", best="0.2500")
    lines.update()
    assert "training: 2 of 4 batches, loss 0.500, best 0.2500, 0.0 s each, 0 min left" in caplog.text
    caplog.clear()
    ProgressLines(total=4, initial=0, unit="batches").update()
    assert not caplog.text


def test_a_pipe_gets_lines_and_quiet_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(training_progress(total=2, initial=0, units="batches", is_shown=True), ProgressLines)
    training_progress(total=2, initial=0, units="batches", is_shown=False).update()
    assert not capsys.readouterr().err
