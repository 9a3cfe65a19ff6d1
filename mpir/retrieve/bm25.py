"""BM25's two parameters: the defaults, chosen on questions (see docs/first-stage.md), and their bounds."""

from __future__ import annotations

import math

from mpir.errors import InputError

DEFAULT_K1 = 0.6
DEFAULT_B = 0.4


def check_parameters(k1: float, b: float) -> None:
    """Refuse what BM25 is not defined for. Raises InputError unless k1 ≥ 0 (finite) and 0 ≤ b ≤ 1."""
    if not (math.isfinite(k1) and k1 >= 0):
        raise InputError(f"k1 is {k1}, but BM25 needs a finite k1 of 0 or more; the default is {DEFAULT_K1}.")
    if not 0 <= b <= 1:
        raise InputError(f"b is {b}, but BM25 needs b between 0 and 1; the default is {DEFAULT_B}.")
