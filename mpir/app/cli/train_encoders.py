"""``mpir train average``, ``shrink`` and ``tk``: checkpoints to train from, and averages of trained ones."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from mpir.errors import InputError
from mpir.files.folder_format import CHECKPOINT, FolderFormat
from mpir.files.output_checks import Named, Output, check_outputs

EPILOG_AVERAGE = """\
Without --calibrate, two checkpoints of one architecture are averaged, such as an encoder before and after training.

Both bundles must have the same perspectives in the same order; the second may be a bare checkpoint with the outputs of
the first. The result's probabilities are calibrated on the rows of --calibrate. Its weights are equal until `mpir tune`
finds others.

examples:
  mpir train average ENCODER runs/mine/best --output runs/mean
  mpir train average runs/gold/bundle runs/topics/bundle --share 0.5 \\
    --calibrate runs/data/relevance.search.dev.jsonl --output runs/mean/bundle
"""


def run_average(arguments: argparse.Namespace) -> int:
    """Average and calibrate; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.extras import needs

    with needs("train", "averaging bundles"):
        from mpir.lab.train.average import average, average_bundles
    from mpir.models.bundles.bundle import BUNDLE

    read = [("FIRST", arguments.before), ("SECOND", arguments.after), ("--calibrate", arguments.calibrate)]
    _check_output(arguments, CHECKPOINT if arguments.calibrate is None else BUNDLE, read)
    if arguments.calibrate is None:
        _refuse_bundles(arguments.before, arguments.after)
        average(arguments.before, arguments.after, arguments.output, arguments.share)
        print(f"checkpoint: {arguments.output}")
        return 0

    options = {"rows": arguments.calibrate, "share": arguments.share, "stored": arguments.stored}
    lines = average_bundles(arguments.before, arguments.after, arguments.output, **options)
    print("\n".join([*lines, f"bundle: {arguments.output}"]))
    return 0


def _check_output(arguments: argparse.Namespace, form: FolderFormat, read: Iterable[Named]) -> None:
    """Raise OutputError for a folder that must not be replaced."""
    check_outputs([Output("--output", arguments.output, form)], read)


def _refuse_bundles(*names: str) -> None:
    """Raise InputError for a bundle, whose probabilities would no longer be calibrated."""
    for name in names:
        if (Path(name) / "bundle.json").is_file():
            raise InputError(
                f"{name}: is a bundle, whose probabilities must be calibrated on rows; give them with --calibrate."
            )


EPILOG_SHRINK = """\
Tokens are counted in the documents of --corpus, and in the queries and sentences of each file of --rows. The result is
a starting point for distillation, not a usable model.

example:
  mpir train shrink mpir/bundles/default/model --layers 3 --tokens 8192 --corpus abstracts.jsonl --output runs/small
"""


def run_shrink(arguments: argparse.Namespace) -> int:
    """Shrink, and print what remains; return 0. Raises MpirError for a user's mistake."""
    from mpir.lab.train.shrink import make_smaller

    options = {name: getattr(arguments, name) for name in ("layers", "tokens", "corpus", "rows")}
    texts = [(f"--{name}", path) for name in ("corpus", "rows") for path in options[name]]
    _check_output(arguments, CHECKPOINT, [("DIR", arguments.checkpoint), *texts])
    layers, share = make_smaller(arguments.checkpoint, arguments.output, **options)
    numbers = ", ".join(str(number + 1) for number in layers)
    print(f"{arguments.output}: layers {numbers}; {arguments.tokens} tokens, {share:.1%} of those in the texts")
    return 0


EPILOG_TK = """\
VECTORS is a folder from `mpir data vectors`, or a file in word2vec's format. Words start with their vectors, which are
trained with everything else; the layers start at random.

examples:
  mpir data vectors abstracts.jsonl --set vectors.size=300 --output runs/vectors
  mpir train tk runs/vectors --output runs/tk
  mpir train --checkpoint runs/tk --mixture experiments/mixtures/tripclick-tk.json --data DATA --output runs/trained
"""


def run_tk(arguments: argparse.Namespace) -> int:
    """Make the checkpoint; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.lab.train.tk_init import make_tk

    options = {name: getattr(arguments, name) for name in ("heads", "layers", "feed_forward", "seed")}
    _check_output(arguments, CHECKPOINT, [("VECTORS", arguments.vectors)])
    print(f"checkpoint: {make_tk(arguments.vectors, arguments.output, **options)}")
    return 0
