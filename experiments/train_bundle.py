"""Fine-tune an encoder for the perspectives of a mixture, and make a bundle of it.

    python data_scripts/training_data.py --data ../shared/data --output runs/data
    python experiments/train_bundle.py --checkpoint FOLDER_OR_HUB_NAME --mixture experiments/mixtures/default.json \\
        --data runs/data --output runs/default --bundle runs/default/bundle

    python experiments/train_bundle.py --mixture experiments/mixtures/paper-relevance.json --data runs/data \\
        --output runs/paper-relevance --bundle runs/paper-relevance/bundle      (the paper's recipe: a hub, a GPU)

The best checkpoint on dev (mean of the perspectives' figures) is in OUTPUT/best; OUTPUT/log.jsonl holds every step and
OUTPUT/curves.png shows them. Interrupted, the same command goes on where it stopped and ends with the same weights. The
settings are those of the mixture file, where it has any, and the options here count more. The bundle's relevance is
calibrated on its dev rows, or on those of --calibrate, such as sentences that a search brings up (Platt scaling, folded
into the weights), and its card begins with the facts of the training.
"""

from __future__ import annotations

import argparse
import logging
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mpir.cli import guarded
from mpir.train.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpir.train.data import Example
    from mpir.train.loop import FineTuner

TYPES = {"int": int, "int | None": int, "float": float, "str": str}


def main() -> int:
    """Read arguments, train, say where the result is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mixture", type=Path, required=True, help="JSON file that says what trains what")
    parser.add_argument("--data", type=Path, help="folder of the training files (default: the mixture's own)")
    parser.add_argument("--output", type=Path, required=True, help="folder of the run")
    parser.add_argument("--bundle", type=Path, help="also make a bundle there")
    parser.add_argument("--calibrate", type=Path, metavar="FILE", help="rows to calibrate on (default: the dev rows)")
    parser.add_argument(
        "--without", nargs="+", default=(), metavar="NAME", help="leave out a perspective, file, kind or file:kind"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 … (%(default)s)")
    add_settings(parser)
    arguments = parser.parse_args()
    return guarded("train_bundle", lambda: run(arguments))


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add an option for every setting of a run."""
    group = parser.add_argument_group("settings")
    for item in fields(TrainingSettings):
        default = "" if item.default in (MISSING, None) else f" ({item.default})"
        meaning = item.metadata["help"] + default
        group.add_argument(f"--{item.name.replace('_', '-')}", type=TYPES[str(item.type)], help=meaning)


def run(arguments: argparse.Namespace) -> int:
    """Train, and export where that is asked for."""
    logging.getLogger("mpir").setLevel(logging.INFO)
    settings = TrainingSettings.read(
        arguments.mixture, {f.name: getattr(arguments, f.name) for f in fields(TrainingSettings)}
    )
    from mpir.plots.training import curves
    from mpir.train.data import read_mixture
    from mpir.train.loop import FineTuner

    tasks = read_mixture(arguments.mixture, arguments.data, without=arguments.without)
    tuner = FineTuner(settings, tasks, arguments.output, device=arguments.device)
    best = tuner.run(progress=sys.stderr.isatty())
    curves(arguments.output / "log.jsonl", arguments.output / "curves.png")
    print(f"best checkpoint: {best}")
    if arguments.bundle:
        export(best, tuner, arguments.bundle, arguments.calibrate)
    return 0


def export(best: Path, tuner: FineTuner, folder: Path, rows: Path | None = None) -> None:
    """Make the bundle: calibrate every probability, and begin the card."""
    from mpir.train.data import read_rows
    from mpir.train.export import declare, describe, export_bundle

    tuner.load(best)
    perspectives = declare(tuner.tasks)
    calibration, lines = {}, []
    for index, (item, task) in enumerate(zip(perspectives, tuner.tasks, strict=True)):
        if item["scale"] == "probability":
            shown = read_rows(rows, 1.0) if rows else task.dev
            logits = tuner.outputs(shown, [index])[:, 0].astype(np.float64)
            calibration[item["output"]], line = calibrate(logits, shown)
            lines.append(f"{task.name}: expected calibration error {line}")
    card = describe(folder.name, tuner.settings, tuner.tasks, tuner.evaluate(), lines)
    export_bundle(best, folder, perspectives, name=folder.name, card=card, calibration=calibration)
    print("\n".join([*lines, f"bundle: {folder}"]))


def calibrate(logits: npt.NDArray[np.float64], rows: Sequence[Example]) -> tuple[tuple[float, float], str]:
    """The (slope, shift) of Platt scaling fitted on all rows, and its error in words.

    The error is that of each half of the questions, scaled by what was fitted on the other half.
    """
    from mpir.evaluate.calibration import calibration_error, fit_logistic

    labels = np.array([float(row.label > 0) for row in rows])
    place = {group: number for number, group in enumerate(dict.fromkeys(row.group for row in rows))}
    half = np.array([place[row.group] % 2 == 1 for row in rows])
    scaled = np.zeros(len(rows))
    for part in (half, ~half):
        slope, shift = fit_logistic(logits[~part], labels[~part])
        scaled[part] = slope * logits[part] + shift
    before, after = (calibration_error(1 / (1 + np.exp(-x)), labels) for x in (logits, scaled))
    words = f"{before:.4f} before and {after:.4f} after scaling ({len(rows)} dev rows, halves of the questions in turn)"
    return fit_logistic(logits, labels), words


if __name__ == "__main__":
    sys.exit(main())
