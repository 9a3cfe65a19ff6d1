"""Fine-tune an encoder for the perspectives of a mixture.

    python experiments/train_bundle.py --checkpoint FOLDER_OR_HUB_NAME --mixture experiments/mixtures/default.json \\
        --data runs/data --output runs/default

The best checkpoint on dev (mean of the perspectives' figures) is in OUTPUT/best; OUTPUT/log.jsonl holds every step.
Interrupted, the same command goes on where it stopped.
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from mpir.errors import MpirError


def main() -> int:
    """Read arguments, train, say where the result is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", required=True, help="encoder to start from: a folder or a hub name")
    parser.add_argument("--mixture", type=Path, required=True, help="JSON file that says what trains what")
    parser.add_argument("--output", type=Path, required=True, help="folder of the run")
    parser.add_argument("--rows", type=int, default=48, help="pairs in a batch")
    parser.add_argument("--learning-rate", type=float, default=5e-5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--evaluate-every", type=int, default=400, help="batches between two looks at dev")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    from mpir.train.fine_tune import FineTuner, Settings
    from mpir.train.mixture import read_mixture

    settings = Settings(
        checkpoint=arguments.checkpoint,
        rows=arguments.rows,
        learning_rate=arguments.learning_rate,
        seed=arguments.seed,
        evaluate_every=arguments.evaluate_every,
    )
    try:
        best = FineTuner(settings, read_mixture(arguments.mixture), arguments.output).run(progress=sys.stderr.isatty())
    except MpirError as error:
        print(f"train_bundle: {error}", file=sys.stderr)
        return 2
    print(f"best checkpoint: {best}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
