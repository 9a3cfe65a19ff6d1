"""``mpir train tk``: make an initial TK model from word vectors."""

from __future__ import annotations

import argparse

EPILOG = """\
VECTORS is a folder from `mpir data vectors`, or a file in word2vec's format. Words start with their vectors, which are
trained with everything else; the layers start at random.

examples:
  mpir data vectors abstracts.jsonl --set vectors.size=300 --output runs/vectors
  mpir train tk runs/vectors --output runs/tk
  mpir train --checkpoint runs/tk --mixture experiments/mixtures/tripclick-tk.json --data DATA --output runs/trained
"""


def run(arguments: argparse.Namespace) -> int:
    """Make the checkpoint; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.lab.train.tk_init import make_tk

    options = {name: getattr(arguments, name) for name in ("heads", "layers", "feed_forward", "seed")}
    print(f"checkpoint: {make_tk(arguments.vectors, arguments.output, **options)}")
    return 0
