"""Significance: a paired randomisation test, t-tests, a bootstrap interval, and Holm's correction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpir.errors import InputError
from mpir.validation import whole_number

# Resamples drawn at a time: enough to vectorise, few enough to fit in memory.
BATCH = 1000


def randomisation_test(first: ArrayLike, second: ArrayLike, *, permutations: int = 100_000, seed: int = 0) -> float:
    """The two-sided p-value of the difference between two means over the same questions (Smucker et al., CIKM 2007).

    Each permutation swaps the two systems on a random half of the questions. The observed labelling counts as one,
    so p is never 0: the smallest is 1 / (permutations + 1).

    Args:
        first, second: (Q,) one measure of two systems, question by question.

    Raises:
        InputError: the arrays are empty, differ in shape, or hold NaN or infinities, or there is no permutation.
    """
    permutations = whole_number("permutations", permutations)
    first, second = _values(first), _values(second)
    if first.shape != second.shape:
        raise InputError(f"{first.size} and {second.size} values were given; give both systems the same questions.")
    difference = first - second
    # Mathematically equal sums may differ in their last bits; they count as equal.
    threshold = abs(difference.sum()) - 1e-12 * np.abs(difference).sum()
    generator = np.random.default_rng(seed)
    extreme = 1
    for count in _batches(permutations):
        signs = generator.integers(0, 2, (count, difference.size), dtype=np.int8) * 2 - 1
        extreme += int(np.count_nonzero(np.abs(signs @ difference) >= threshold))
    return extreme / (permutations + 1)


def paired_t_test(first: ArrayLike, second: ArrayLike) -> float:
    """The two-sided p-value of a paired t-test over questions; NaN for a single question.

    Without any variance of the differences it is 1 where they are 0, and 0 elsewhere.

    Raises:
        InputError: the arrays differ in shape, or hold NaN or infinities.
    """
    count = _values(first).size
    return grouped_t_test(first, second, groups=count) if count > 1 else float("nan")


def grouped_t_test(first: ArrayLike, second: ArrayLike, *, groups: int = 10, seed: int = 0) -> float:
    """The two-sided p-value of a paired t-test over the means of random groups of questions.

    Some papers report it in place of a test over questions. Group means are closer to normally distributed than
    single values, but there are fewer of them, and p depends on the grouping. The randomisation test has no grouping.

    Args:
        first, second: (Q,) one measure of two systems, question by question.
        groups: the number of groups; their sizes differ by at most one question.

    Raises:
        InputError: the arrays differ in shape or hold NaN or infinities, or there are fewer questions than groups.
    """
    from scipy.stats import ttest_rel

    first, second = _values(first), _values(second)
    if first.shape != second.shape or not 2 <= groups <= first.size:
        raise InputError(
            f"{first.size} and {second.size} values were given for {groups} groups; give both systems the same "
            "questions, at least one for each of two groups or more."
        )
    group_members = np.array_split(np.random.default_rng(seed).permutation(first.size), groups)
    first_means, second_means = (
        [float(values[members].mean()) for members in group_members] for values in (first, second)
    )
    differences = np.subtract(first_means, second_means)
    if np.ptp(differences) <= 1e-12 * np.abs(differences).max():  # without variance the test is undefined
        return float(not differences.any())
    return float(ttest_rel(first_means, second_means).pvalue)


def bootstrap_interval(
    values: ArrayLike, *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """The percentile bootstrap interval of a mean (Efron 1979), as (low, high).

    Args:
        values: (Q,) one measure question by question, or the difference of two systems.

    Raises:
        InputError: no values, NaN or infinities among them, no resample, or a level outside 0 to 1.
    """
    resamples = whole_number("resamples", resamples)
    values = _values(values)
    if not 0 < level < 1:
        raise InputError(f"invalid interval level {level} (expected 0 < level < 1); use 0.95 for 95 %.")
    generator = np.random.default_rng(seed)
    drawn = (generator.integers(0, values.size, (count, values.size)) for count in _batches(resamples))
    means = np.concatenate([values[index].mean(axis=1) for index in drawn])
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """The p-values (C,) of C comparisons, adjusted for their number by Holm's step-down method (1979).

    Raises:
        InputError: no p-values, or one outside 0 to 1.
    """
    p_values = _values(p_values)
    if p_values.min() < 0 or p_values.max() > 1:
        raise InputError(f"p-values run from {p_values.min()} to {p_values.max()}; expected 0 to 1.")
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(p_values[order] * np.arange(p_values.size, 0, -1))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _values(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(
            f"expected a row of numbers, found an array of shape {array.shape}; give one value per question."
        )
    if not array.size:
        raise InputError("expected a row of numbers, but the array is empty; give one value per question.")
    (wrong,) = np.nonzero(~np.isfinite(array))
    if wrong.size:
        raise InputError(f"the value at position {wrong[0]} is {array[wrong[0]]}; expected finite numbers.")
    return array


def _batches(total: int) -> Iterator[int]:
    for start in range(0, total, BATCH):
        yield min(BATCH, total - start)
