"""Fine-tune an encoder for the perspectives of a mixture, and make a bundle of it.

    python data_scripts/training_data.py --data ../shared/data --output runs/data
    python experiments/train_bundle.py --checkpoint FOLDER_OR_HUB_NAME --mixture experiments/mixtures/default.json \\
        --data runs/data --output runs/default --bundle runs/default/bundle

The best checkpoint on dev (mean of the perspectives' figures) is in OUTPUT/best; OUTPUT/log.jsonl holds every step.
Interrupted, the same command goes on where it stopped. The bundle's relevance is calibrated on its dev rows (Platt
scaling, folded into the weights), and its card begins with the facts of the training.
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mpir.cli import guarded

if TYPE_CHECKING:
    from mpir.train.fine_tune import FineTuner


def main() -> int:
    """Read arguments, train, say where the result is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", required=True, help="encoder to start from: a folder or a hub name")
    parser.add_argument("--mixture", type=Path, required=True, help="JSON file that says what trains what")
    parser.add_argument("--data", type=Path, help="folder of the training files (default: the mixture's own)")
    parser.add_argument("--output", type=Path, required=True, help="folder of the run")
    parser.add_argument("--bundle", type=Path, help="also make a bundle there")
    parser.add_argument("--rows", type=int, default=48, help="pairs in a batch (%(default)s)")
    parser.add_argument("--learning-rate", type=float, default=6e-5, help="highest (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the order, the sampling and the heads (%(default)s)")
    parser.add_argument("--evaluate-every", type=int, default=400, help="batches between two looks at dev")
    arguments = parser.parse_args()
    return guarded("train_bundle", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Train, and export where that is asked for."""
    logging.getLogger("mpir").setLevel(logging.INFO)
    from mpir.train.fine_tune import FineTuner, Settings
    from mpir.train.mixture import read_mixture

    settings = Settings(
        checkpoint=arguments.checkpoint,
        rows=arguments.rows,
        learning_rate=arguments.learning_rate,
        seed=arguments.seed,
        evaluate_every=arguments.evaluate_every,
    )
    tuner = FineTuner(settings, read_mixture(arguments.mixture, arguments.data), arguments.output)
    best = tuner.run(progress=sys.stderr.isatty())
    print(f"best checkpoint: {best}")
    if arguments.bundle:
        export(best, tuner, arguments.bundle)
    return 0


def export(best: Path, tuner: FineTuner, folder: Path) -> None:
    """Make the bundle: calibrate every probability on its dev rows, and begin the card."""
    from mpir.train.export import SCALES, calibration_error, describe, export_bundle, platt

    tuner.load(best)
    heads = [(task.name, SCALES[task.losses[0]]) for task in tuner.tasks]
    calibration, lines = {}, []
    for output, ((name, scale), task) in enumerate(zip(heads, tuner.tasks, strict=True)):
        if scale == "probability":
            logits = tuner.outputs(task.dev)[:, output].astype(np.float64)
            labels = np.array([row.label for row in task.dev])
            slope, shift = calibration[output] = platt(logits, labels)
            before, after = (calibration_error(1 / (1 + np.exp(-x)), labels) for x in (logits, slope * logits + shift))
            lines.append(f"{name}: expected calibration error on dev {before:.4f} before, {after:.4f} after scaling")
    card = describe(folder.name, tuner.settings, tuner.tasks, tuner.evaluate(), lines)
    export_bundle(best, folder, heads, name=folder.name, card=card, calibration=calibration)
    print("\n".join([*lines, f"bundle: {folder}"]))


if __name__ == "__main__":
    sys.exit(main())
