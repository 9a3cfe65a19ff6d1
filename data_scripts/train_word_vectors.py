"""Train word vectors over a corpus: the command `mpir data vectors` as a script, with the same options.

python data_scripts/train_word_vectors.py abstracts.jsonl --output runs/vectors --workers 2
"""

from __future__ import annotations

import sys

from mpir.app import cli


def main() -> int:
    """Run the command with this script's arguments; the exit status."""
    return cli.main(["data", "vectors", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
