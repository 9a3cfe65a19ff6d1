"""Tests of many systems against one: the p-values of a table, corrected for their number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from mpir.evaluate import holm, randomisation_test
from mpir.evaluate.comparison import compare_pairs
from mpir.types import F64


def p_against(values: Mapping[str, F64], reference: str) -> dict[str, float]:
    """The p-value of each system against the reference (see `compare_pairs`), by name and corrected (Holm)."""
    return {pair.first: pair.p for pair in compare_pairs(values, reference)}


def corrected(pairs: Iterable[tuple[F64, F64]]) -> list[float]:
    """The p-values of pairs of systems, corrected (Holm), where questions differ or some have no value (NaN)."""
    tests = [randomisation_test(*with_values(first, second)) for first, second in pairs]
    return holm(tests).tolist() if tests else []


def with_values(first: F64, second: F64) -> tuple[F64, F64]:
    """The values of the questions for which both systems have one."""
    both = ~(np.isnan(first) | np.isnan(second))
    return first[both], second[both]
