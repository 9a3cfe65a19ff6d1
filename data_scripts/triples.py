"""Sample training triples: the command `mpir data triples` as a script, with the same options.

python data_scripts/triples.py --questions questions.json --index my-index --output bm25.tsv
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mpir.app import cli


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with this script's arguments; the exit status."""
    return cli.main(["data", "triples", *(sys.argv[1:] if arguments is None else arguments)])


if __name__ == "__main__":
    sys.exit(main())
