"""Types for number options: argparse refuses an invalid number before anything is read or written."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress

from mpir.errors import format_value


def at_least(minimum: int) -> Callable[[str], int]:
    """Return a parser of whole numbers of at least `minimum`, for argparse."""

    def number(text: str) -> int:
        """Parse a whole number; an invalid one raises ArgumentTypeError."""
        with suppress(ValueError):
            if (value := int(text)) >= minimum:
                return value
        raise argparse.ArgumentTypeError(
            f"{format_value(text)} is given; expected a whole number of at least {minimum}"
        )

    return number


positive = at_least(1)
not_negative = at_least(0)


def probability(text: str) -> float:
    """Parse a number from 0 to 1, for argparse."""
    with suppress(ValueError):
        if 0 <= (value := float(text)) <= 1:
            return value
    raise argparse.ArgumentTypeError(f"{format_value(text)} is given; expected a number from 0 to 1")
