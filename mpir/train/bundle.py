"""A run's best checkpoint as a bundle: every probability calibrated, and the card begun."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mpir.evaluate.calibration import calibration_error, fit_logistic
from mpir.train.export import declare, describe, export_bundle
from mpir.train.rows import Example, read_rows

if TYPE_CHECKING:
    from mpir.train.loop import FineTuner


def make_bundle(
    best: Path, tuner: FineTuner, folder: Path, rows: Path | None = None, stored: str = "fp16"
) -> list[str]:
    """Write the bundle, and return a line on how well each probability is calibrated.

    Args:
        best: the checkpoint.
        tuner: the run that it comes from, whose model it becomes.
        folder: where the bundle goes.
        rows: a file of labelled rows to calibrate on; by default the dev rows of each perspective.
        stored: the number format of its weights, fp16 or bf16.

    Raises:
        InputError: broken rows.
        OutputError: the folder cannot be written, or something else stands there.
    """
    tuner.load(best)
    perspectives = declare(tuner.tasks)
    calibration, lines = {}, []
    for index, (item, task) in enumerate(zip(perspectives, tuner.tasks, strict=True)):
        if item.get("scale") == "probability":
            shown = read_rows(rows, 1.0) if rows else task.dev
            logits = tuner.outputs(shown, [index])[:, 0].astype(np.float64)
            calibration[item["output"]], line = calibrate(logits, shown)
            lines.append(f"{task.name}: expected calibration error {line}")
    card = describe(folder.name, tuner.settings, tuner.tasks, tuner.seen, tuner.evaluate(), notes=lines)
    export_bundle(best, folder, perspectives, name=folder.name, card=card, calibration=calibration, stored=stored)
    return lines


def calibrate(logits: npt.NDArray[np.float64], rows: Sequence[Example]) -> tuple[tuple[float, float], str]:
    """The (slope, shift) of Platt scaling fitted on all rows, and its error in words.

    The error is that of each half of the questions, scaled by what was fitted on the other half; a single question has
    no halves, so that its error is that of the rows that were fitted.
    """
    labels = np.array([float(row.label > 0) for row in rows])
    place = {group: number for number, group in enumerate(dict.fromkeys(row.group for row in rows))}
    half = np.array([place[row.group] % 2 == 1 for row in rows])
    slope, shift = fitted = fit_logistic(logits, labels)
    scaled = slope * logits + shift
    for part in (half, ~half) if half.any() else ():
        slope, shift = fit_logistic(logits[~part], labels[~part])
        scaled[part] = slope * logits[part] + shift
    before, after = (calibration_error(1 / (1 + np.exp(-x)), labels) for x in (logits, scaled))
    how = "halves of the questions in turn" if half.any() else "of one question, and fitted on them"
    return fitted, f"{before:.4f} before and {after:.4f} after scaling ({len(rows)} dev rows, {how})"
