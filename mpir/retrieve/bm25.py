"""BM25's two parameters: the defaults, chosen on questions (see docs/first-stage.md), and their bounds."""

from __future__ import annotations

from mpir.errors import InputError

DEFAULT_K1 = 0.6
DEFAULT_B = 0.4
HIGHEST_K1 = 1000
"""From here on a term counts as often as it occurs; Lucene computes with numbers of 32 bits."""


def check_parameters(k1: float, b: float) -> None:
    """Refuse what BM25 is not defined for, or what no text can tell apart. Raises InputError unless 0 ≤ k1 ≤ 1000
    and 0 ≤ b ≤ 1."""
    if not 0 <= k1 <= HIGHEST_K1:
        raise InputError(f"k1 is {k1}, but BM25 needs k1 between 0 and {HIGHEST_K1}; the default is {DEFAULT_K1}.")
    if not 0 <= b <= 1:
        raise InputError(f"b is {b}, but BM25 needs b between 0 and 1; the default is {DEFAULT_B}.")
