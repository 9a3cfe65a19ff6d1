"""Generate SIA data: the command `mpir data sia` as a script, with the same options.

python data_scripts/generate_sia.py --qasc mpir/sample/qasc.jsonl --vectors runs/vectors --output runs/sia
"""

from __future__ import annotations

import sys

from mpir.app import cli


def main() -> int:
    """Run the command with this script's arguments; the exit status."""
    return cli.main(["data", "sia", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
