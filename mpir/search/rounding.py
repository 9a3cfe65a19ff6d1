"""Round scores in proportion to their size, so that the last bits of a sum do not decide the order of equal ones."""

from __future__ import annotations

import math

import numpy as np

from mpir.types import F64, I64

_SLACK = 1.05
"""A length of 1 by vectors that were stored in few bits."""


def decimals_of(size: float, decimals: int) -> int:
    """Return the decimals to round numbers of a size to: `decimals` for 1 or more, and further ones for less."""
    return decimals - math.ceil(math.log10(size / _SLACK)) if 0 < size < 1 else decimals


def round_rows(scores: F64, decimals: I64) -> F64:
    """Return scores (Q, N) rounded to the decimals (Q,) of each row."""
    rounded = np.empty_like(scores)
    for number in np.unique(decimals):
        rounded[decimals == number] = np.round(scores[decimals == number], number)
    return rounded
