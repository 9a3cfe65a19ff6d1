"""``python -m mpir`` is the ``mpir`` command."""

import sys

from mpir.app.cli import main

if __name__ == "__main__":
    sys.exit(main())
