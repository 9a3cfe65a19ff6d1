"""BM25's two parameters: the defaults, chosen on questions (see docs/evidence/first-stage.md), and their bounds."""

from __future__ import annotations

from mpir.validation import real_number

DEFAULT_K1 = 0.6
DEFAULT_B = 0.4
HIGHEST_K1 = 1000
"""From here on a term counts as often as it occurs; Lucene computes with numbers of 32 bits."""


def check_parameters(k1: float, b: float) -> None:
    """Refuse what BM25 is not defined for, or what no text can tell apart. Raises InputError unless 0 ≤ k1 ≤ 1000
    and 0 ≤ b ≤ 1."""
    real_number(
        "k1", k1, f"a number from 0 to {HIGHEST_K1}, such as {DEFAULT_K1}", lambda value: 0 <= value <= HIGHEST_K1
    )
    real_number("b", b, f"a number from 0 to 1, such as {DEFAULT_B}", lambda value: 0 <= value <= 1)
