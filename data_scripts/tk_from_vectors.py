"""Make a TK model of word vectors: the command `mpir train tk` as a script, with the same options.

python data_scripts/tk_from_vectors.py runs/vectors --output runs/tk
"""

from __future__ import annotations

import sys

from mpir.app import cli


def main() -> int:
    """Run the command with this script's arguments; the exit status."""
    return cli.main(["train", "tk", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
