"""``mpir train average``: average two bundles that were trained from one checkpoint."""

from __future__ import annotations

import argparse
from pathlib import Path

from mpir.errors import InputError

EPILOG = """\
Without --calibrate, two checkpoints of one architecture are averaged, such as an encoder before and after training.

Both bundles must have the same perspectives in the same order; the second may be a bare checkpoint with the outputs of
the first. The result's probabilities are calibrated on the rows of --calibrate. Its weights are equal until `mpir tune`
finds others.

examples:
  mpir train average ENCODER runs/mine/best --output runs/mean
  mpir train average runs/gold/bundle runs/topics/bundle --share 0.5 \\
    --calibrate runs/data/relevance.search.dev.jsonl --output runs/mean/bundle
"""


def run(arguments: argparse.Namespace) -> int:
    """Average and calibrate; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.extras import needs

    with needs("train", "averaging bundles"):
        from mpir.lab.train.average import average
        from mpir.lab.train.average_bundles import average_bundles

    if arguments.calibrate is None:
        _refuse_bundles(arguments.before, arguments.after)
        average(arguments.before, arguments.after, arguments.output, arguments.share)
        print(f"checkpoint: {arguments.output}")
        return 0

    options = {"rows": arguments.calibrate, "share": arguments.share, "stored": arguments.stored}
    lines = average_bundles(arguments.before, arguments.after, arguments.output, **options)
    print("\n".join([*lines, f"bundle: {arguments.output}"]))
    return 0


def _refuse_bundles(*names: str) -> None:
    """Raise InputError for a bundle, whose probabilities would no longer be calibrated."""
    for name in names:
        if (Path(name) / "bundle.json").is_file():
            raise InputError(
                f"{name}: is a bundle, whose probabilities must be calibrated on rows; give them with --calibrate."
            )
