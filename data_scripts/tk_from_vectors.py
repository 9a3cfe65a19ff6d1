"""Make a TK model to train from, out of word vectors.

    python data_scripts/train_word_vectors.py abstracts.jsonl --size 300 --output runs/vectors
    python data_scripts/tk_from_vectors.py runs/vectors --output runs/tk-start
    mpir train --checkpoint runs/tk-start --mixture experiments/mixtures/tripclick-tk.json --data DATA --output runs/tk

VECTORS is a folder of train_word_vectors.py, or a file in word2vec's format. The words keep their vectors, which are
trained with everything else; the layers are random.
"""

from __future__ import annotations

import argparse
import sys

from mpir.cli import guarded
from mpir.cli.path_options import file_path


def main() -> int:
    """Read, make, say where it is."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vectors", type=file_path, metavar="VECTORS", help="word2vec's format, or a folder with it")
    parser.add_argument("--output", type=file_path, required=True, metavar="DIR", help="folder of the checkpoint")
    parser.add_argument("--heads", type=int, default=10, help="of attention; a divisor of the width (%(default)s)")
    parser.add_argument("--layers", type=int, default=2, help="%(default)s")
    parser.add_argument("--feed-forward", type=int, default=300, help="width of the layers' inside (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the layers (%(default)s)")
    arguments = parser.parse_args()
    return guarded("tk_from_vectors", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole job; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.models.tk_init import make_tk

    options = {name: getattr(arguments, name) for name in ("heads", "layers", "feed_forward", "seed")}
    print(f"checkpoint: {make_tk(arguments.vectors, arguments.output, **options)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
