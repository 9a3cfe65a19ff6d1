"""BM25's parameters k1 and b: defaults, chosen on questions (docs/evidence/first-stage.md), and bounds."""

from __future__ import annotations

from mpir.validation import real_number

DEFAULT_K1 = 0.6
DEFAULT_B = 0.4
HIGHEST_K1 = 1000
"""Beyond this k1, scores grow linearly with term frequency in Lucene's 32-bit arithmetic."""


def check_parameters(k1: float, b: float) -> None:
    """Raise InputError unless 0 ≤ k1 ≤ 1000 and 0 ≤ b ≤ 1."""
    real_number(
        "k1", k1, f"a number from 0 to {HIGHEST_K1}, such as {DEFAULT_K1}", lambda value: 0 <= value <= HIGHEST_K1
    )
    real_number("b", b, f"a number from 0 to 1, such as {DEFAULT_B}", lambda value: 0 <= value <= 1)
