"""Make a lexicon of CheXpert's phrases: the command `mpir data chexpert` as a script, with the same options.

python data_scripts/chexpert_lexicon.py PHRASES --output chexpert.tsv
"""

from __future__ import annotations

import sys

from mpir.app import cli


def main() -> int:
    """Run the command with this script's arguments; the exit status."""
    return cli.main(["data", "chexpert", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
