"""Export a run's best checkpoint as a bundle, with calibrated probabilities and the beginning of a card."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.special import expit

from mpir.errors import InputError, format_names
from mpir.evaluate.calibration import calibration_error, fit_platt
from mpir.files.files import check_file_list
from mpir.files.folder_format import FILE_LIST
from mpir.files.read import read_lines
from mpir.lab.train.examples import Example, read_rows
from mpir.lab.train.export import card_text, declare, describe, export_bundle
from mpir.types import F64

if TYPE_CHECKING:
    from mpir.lab.train.document_trainer import DocumentTuner
    from mpir.lab.train.mixture import Task
    from mpir.lab.train.run import TrainingRun
    from mpir.lab.train.trainer import FineTuner

Rows = Mapping[str, Sequence[Example]]
"""Labelled rows by perspective."""


def calibration_rows(tasks: Sequence[Task], path: Path | None = None) -> Rows:
    """Return the rows for calibrating each perspective that is a probability: those of a file, or its dev rows.

    Raises:
        InputError: invalid rows, rows of one label only, or a file although no perspective is a probability.
    """
    probabilities = {item["name"] for item in declare(tasks) if item.get("scale") == "probability"}
    if path and not probabilities:
        names = format_names(task.name for task in tasks)
        raise InputError(
            f"{path}: none of the perspectives {names} is a probability, so there is nothing to calibrate; leave the "
            "file out, or train a perspective with a loss such as bce."
        )
    judged_rows = read_rows(path, 1.0) if path else None
    rows_of = {
        task.name: task.dev if judged_rows is None else judged_rows for task in tasks if task.name in probabilities
    }
    for name, rows in rows_of.items():
        check_labels(rows, str(path) if path else f"{name}: dev")
    return rows_of


def make_bundle(
    best: Path, tuner: FineTuner, folder: Path, rows: Rows | None = None, stored: str = "fp16"
) -> list[str]:
    """Write the bundle, and return a line about the calibration of each probability.

    Args:
        best: the checkpoint.
        tuner: its training run, into whose model it is loaded.
        folder: the folder of the bundle.
        rows: rows for calibration, see `calibration_rows`; by default the dev rows of each perspective.
        stored: the number format of the weights, fp16 or bf16.

    Raises:
        ArtefactError: a file of the checkpoint has changed since training.
        InputError: rows of one label only.
        OutputError: the folder cannot be written, or contains something other than a bundle.
    """
    _load_unchanged(best, tuner)
    rows = calibration_rows(tuner.tasks) if rows is None else rows
    entries = declare(tuner.tasks)
    judged = {
        task.name: (rows[task.name], tuner.outputs(list(rows[task.name]), [index])[:, 0].astype(np.float64))
        for index, task in enumerate(tuner.tasks)
        if rows.get(task.name)
    }
    calibration, lines = _calibrate_all(entries, judged)
    card = describe(folder.name, tuner.settings, tuner.tasks, tuner.rows_seen, tuner.evaluate(), notes=lines)
    export_bundle(best, folder, entries, name=folder.name, card=card, calibration=calibration, stored=stored)
    return lines


def make_document_bundle(best: Path, tuner: DocumentTuner, folder: Path, stored: str = "fp16") -> list[str]:
    """As `make_bundle`, for a model that reads documents; probabilities are calibrated on dev rows of both labels."""
    from mpir.lab.train.document_trainer import dev_figures

    _load_unchanged(best, tuner)
    entries, judged = tuner.mixture.entries, tuner.dev_outputs()
    probabilities = {entry["name"] for entry in entries if entry["scale"] == "probability"}
    fit_for = {
        name: (rows, logits)
        for name, (rows, logits) in judged.items()
        if name in probabilities and len({row.label > 0 for row in rows}) == 2
    }
    calibration, lines = _calibrate_all(entries, fit_for)
    mixture, layers = tuner.mixture, tuner.model.config.num_hidden_layers
    figures = [
        f"layer {depth or layers}: {column}: MAP on dev {figure:.4f}"
        for depth in (*mixture.exits, None)
        for column, figure in dev_figures(tuner.dev_outputs(depth)).items()
    ]
    sources = [f"source: {name}, {licence}" for name, licence in mixture.sources.items()]
    seen = f"{tuner.counters.step} steps over {len(mixture.train)} queries with their documents. {_made(tuner)}"
    card = card_text(folder.name, seen, tuner.settings, notes=[*figures, *lines, *sources])
    export_bundle(best, folder, entries, name=folder.name, card=card, calibration=calibration, stored=stored)
    return lines


def _made(tuner: TrainingRun) -> str:
    """Say when and where a run ended, and how long its steps took."""
    lines = (json.loads(line) for _, line in read_lines(tuner.log.path))
    seconds = {line["step"]: line["seconds"] for line in lines if "seconds" in line}
    is_gpu = tuner.device.type == "cuda"
    machine = torch.cuda.get_device_name(tuner.device) if is_gpu else f"{os.cpu_count()} cores ({platform.machine()})"
    return f"Ended on {date.today()} on {machine}, after {sum(seconds.values()) / 60:.1f} minutes of steps."


def _load_unchanged(best: Path, tuner: TrainingRun) -> None:
    """Load the checkpoint of a run. Raises ArtefactError if one of its files has changed since training."""
    check_file_list(best, f"remove {best.parent} and train again, or remove {best / FILE_LIST} if the change is meant")
    tuner.load(best)


def _calibrate_all(
    entries: Sequence[Mapping[str, Any]], judged: Mapping[str, tuple[Sequence[Example], F64]]
) -> tuple[dict[int, tuple[float, float]], list[str]]:
    """Return the scaling of each output with judged rows, and a line about each."""
    calibration, lines = {}, []
    for entry in entries:
        if entry["name"] in judged:
            rows, logits = judged[entry["name"]]
            calibration[entry["output"]], line = calibrate(logits, rows)
            lines.append(f"{entry['name']}: {line}")
    return calibration, lines


def calibrate(logits: F64, rows: Sequence[Example]) -> tuple[tuple[float, float], str]:
    """Fit Platt scaling on all rows; return its (slope, shift), and its error in words.

    The error is measured on each half of the questions with a fit on the other half, or on the fitted rows if a half
    lacks one label. If positive rows do not score higher than others, scaling would change the order; then the result
    is (1, 0), with a note.

    Raises:
        InputError: rows of one label only.
    """
    check_labels(rows, "the file to calibrate on")
    positive = np.array([row.label > 0 for row in rows])
    slope, shift = fitted = fit_platt(logits, positive)
    if slope <= 0:
        return (1.0, 0.0), (
            f"not calibrated, since positive rows don't score higher than others ({len(rows)} rows); train longer, "
            "or calibrate on other rows"
        )
    group_number = {group: number for number, group in enumerate(dict.fromkeys(row.group for row in rows))}
    half = np.array([group_number[row.group] % 2 == 1 for row in rows])
    scaled = slope * logits + shift
    halves = all(len(set(positive[mask])) == 2 for mask in (half, ~half))
    for mask in (half, ~half) if halves else ():
        slope, shift = fit_platt(logits[~mask], positive[~mask])
        scaled[mask] = slope * logits[mask] + shift
    before, after = (calibration_error(expit(x), positive) for x in (logits, scaled))
    how = "halves of the questions in turn" if halves else "too few for halves, and fitted on them"
    return (
        fitted,
        f"expected calibration error {before:.4f} before and {after:.4f} after scaling ({len(rows)} rows, {how})",
    )


def check_labels(rows: Sequence[Example], location: str) -> None:
    """Raise InputError for rows of one label only, which cannot calibrate a probability."""
    positive = sum(row.label > 0 for row in rows)
    if positive in (0, len(rows)):
        raise InputError(
            f"{location} has {len(rows)} rows, {positive} of them with a positive label; calibration needs some with "
            "and some without, so add them, or name other rows to calibrate on."
        )
