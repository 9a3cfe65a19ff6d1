"""``mpir train tk``: make an initial TK model from word vectors."""

from __future__ import annotations

import argparse

from mpir.app.cli.path_options import file_path

EPILOG = """\
VECTORS is a folder from `mpir data vectors`, or a file in word2vec's format. Words start with their vectors, which are
trained with everything else; the layers start at random.

examples:
  mpir data vectors abstracts.jsonl --size 300 --output runs/vectors
  mpir train tk runs/vectors --output runs/tk
  mpir train --checkpoint runs/tk --mixture experiments/mixtures/tripclick-tk.json --data DATA --output runs/trained
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a TK model."""
    parser.add_argument("vectors", type=file_path, metavar="VECTORS", help="word2vec's format, or a folder with it")
    parser.add_argument("--output", type=file_path, required=True, metavar="DIR", help="folder of the checkpoint")
    parser.add_argument("--heads", type=int, default=10, help="attention heads; a divisor of the width (%(default)s)")
    parser.add_argument("--layers", type=int, default=2, help="%(default)s")
    parser.add_argument("--feed-forward", type=int, default=300, help="inner width of the layers (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the layers' initial weights (%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Make the checkpoint; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.lab.train.tk_init import make_tk

    options = {name: getattr(arguments, name) for name in ("heads", "layers", "feed_forward", "seed")}
    print(f"checkpoint: {make_tk(arguments.vectors, arguments.output, **options)}")
    return 0
