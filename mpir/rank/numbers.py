"""What counts as a number where a user may write anything."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number that a float can hold; True and False are none."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, and what pandas has for it."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")
