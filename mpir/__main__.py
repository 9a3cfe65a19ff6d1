"""``python -m mpir`` is the ``mpir`` command."""

import sys

from mpir.cli import main

sys.exit(main())
