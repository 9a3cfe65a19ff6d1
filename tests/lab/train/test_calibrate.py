"""A trained model's probabilities are calibrated on rows of both labels, and their error is measured."""

from pathlib import Path

import numpy as np
import pytest

from mpir.errors import InputError
from mpir.evaluate.calibration import calibration_error, fit_logistic, fit_platt
from mpir.lab.train.bundle import calibrate, calibration_rows
from mpir.lab.train.examples import Example
from mpir.lab.train.losses import LOSSES
from mpir.lab.train.mixture import Task, read_mixture
from tests.lab.train.labelled_rows import rows, write


def test_platt_scaling_finds_a_known_slope_and_shift() -> None:
    generator = np.random.default_rng(0)
    logits = generator.normal(size=20_000)
    labels = (generator.random(20_000) < 1 / (1 + np.exp(-(2 * logits - 1)))).astype(float)
    slope, shift = fit_logistic(logits, labels)
    assert (slope, shift) == (pytest.approx(2, abs=0.1), pytest.approx(-1, abs=0.1))
    assert calibration_error(1 / (1 + np.exp(-(slope * logits + shift))), labels) < 0.02
    assert calibration_error(np.array([0.95, 0.95]), np.array([1.0, 0.0])) == pytest.approx(0.45)


def test_rows_of_a_single_question_calibrate_too() -> None:
    data = [Example(group="q", question="", sentence="", label=label) for label in (1.0, 0.0, 1.0, 0.0)]
    logits = np.array([2.0, 1.0, 0.0, -1.0])
    fitted, words = calibrate(logits, data)
    assert fitted == fit_platt(logits, np.array([True, False, True, False]))
    assert "4 rows, too few for halves, and fitted on them" in words


def test_rows_that_are_told_apart_keep_their_order_as_probabilities() -> None:
    data = [Example(group=f"q{i % 8}", question="", sentence="", label=float(i >= 40)) for i in range(80)]
    logits = np.arange(80) / 20
    (slope, shift), words = calibrate(logits, data)
    probabilities = 1 / (1 + np.exp(-(slope * logits + shift).astype(np.float32)))
    assert (np.diff(probabilities) > 0).all()
    assert words.startswith("expected calibration error")


@pytest.mark.parametrize("slope", [0.0, -1.0])
def test_scores_that_do_not_rise_with_the_labels_are_left_as_they_are(slope: float) -> None:
    data = [Example(group=f"q{i % 4}", question="", sentence="", label=float(i >= 8)) for i in range(16)]
    fitted, words = calibrate(slope * np.arange(16.0), data)
    assert fitted == (1.0, 0.0)
    assert words.startswith("not calibrated, since positive rows don't score higher than others (16 rows)")


def test_a_half_of_one_label_measures_no_calibration() -> None:
    """What is fitted on positives alone would give the other half's rows a probability of 1 each."""
    data = [
        Example(group=group, question="", sentence="", label=label)
        for group, label in (("a", 1.0), ("b", 0.0))
        for _ in range(9)
    ]
    logits = np.array([2.0, 1.0, 0.0] * 3 + [1.0, 0.0, -1.0] * 3)
    _, words = calibrate(logits, data)
    assert "18 rows, too few for halves, and fitted on them" in words


@pytest.mark.parametrize("labels", [[1.0, 1.0], [0.0], []])
def test_rows_of_one_label_calibrate_nothing(labels: list[float]) -> None:
    data = [Example(group=f"q{i}", question="", sentence="", label=label) for i, label in enumerate(labels)]
    message = f"{len(data)} rows, {int(sum(labels))} of them"
    with pytest.raises(InputError, match=message):
        calibrate(np.zeros(len(data)), data)
    with pytest.raises(InputError, match=f"relevance: dev has {message}"):
        calibration_rows([Task(name="relevance", losses=(LOSSES["bce"],), train=(), dev=data)])


def test_only_probabilities_are_calibrated(mixture: Path, tmp_path: Path) -> None:
    tasks = read_mixture(mixture)
    assert calibration_rows(tasks) == {"relevance": tasks[0].dev}
    write(tmp_path / "others.jsonl", rows(1.0, 3))
    assert [
        len(calibration_row) for calibration_row in calibration_rows(tasks, tmp_path / "others.jsonl").values()
    ] == [6]
