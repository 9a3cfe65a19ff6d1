"""Significance: exact small cases, agreement with scipy, seeds, and values that cannot be compared."""

import numpy as np
import pytest
from scipy import stats

from mpir.errors import InputError
from mpir.evaluate import bootstrap_interval, holm, randomisation_test


def test_randomisation_by_hand():
    # All four differences have one sign: 2 of the 16 labellings are as extreme.
    p = randomisation_test([0.5, 0.6, 0.7, 0.9], [0.1, 0.2, 0.3, 0.4])
    assert p == pytest.approx(2 / 16, abs=0.005)


def test_randomisation_agrees_with_scipy():
    generator = np.random.default_rng(1)
    first, second = generator.random(14), generator.random(14) + 0.15
    exact = stats.permutation_test(
        (first, second), lambda a, b, axis: np.mean(a - b, axis=axis), permutation_type="samples", n_resamples=np.inf
    )
    assert randomisation_test(first, second) == pytest.approx(exact.pvalue, abs=0.01)
    assert randomisation_test(first, second) == randomisation_test(second, first)


def test_equal_systems_do_not_differ_and_p_is_never_zero():
    assert randomisation_test([0.1, 0.7], [0.1, 0.7]) == 1
    assert randomisation_test(np.ones(200), np.zeros(200), permutations=999) == 1 / 1000


def test_equal_sums_in_another_order_count_as_extreme():
    # 0.1 + 0.2 − 0.3 is not 0 in floating point; every labelling is at least as extreme as a difference of 0.
    assert randomisation_test([0.1, 0.2, 0.0], [0.0, 0.0, 0.3]) == 1


def test_seeds_repeat():
    values = np.random.default_rng(2).random(40)
    assert randomisation_test(values, 0.5 * values, seed=3) == randomisation_test(values, 0.5 * values, seed=3)
    assert bootstrap_interval(values, seed=3) == bootstrap_interval(values, seed=3)
    assert bootstrap_interval(values, seed=3) != bootstrap_interval(values, seed=4)


def test_bootstrap_agrees_with_scipy():
    values = np.random.default_rng(5).random(100)
    theirs = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=9999, random_state=0)
    assert bootstrap_interval(values) == pytest.approx(tuple(theirs.confidence_interval), abs=0.004)
    low, high = bootstrap_interval(values, level=0.5)
    assert bootstrap_interval(values)[0] < low < values.mean() < high < bootstrap_interval(values)[1]


def test_bootstrap_of_equal_values():
    assert bootstrap_interval([0.25, 0.25, 0.25]) == (0.25, 0.25)


def test_holm_by_hand():
    # Sorted: 0.01·4, 0.02·3, 0.03·2 (kept at the 0.06 before), 0.5·1.
    assert holm([0.03, 0.5, 0.01, 0.02]) == pytest.approx([0.06, 0.5, 0.04, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1, 1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: randomisation_test([0.1, 0.2], [0.1]), "2 and 1 values"),
        (lambda: randomisation_test([], []), "the array is empty"),
        (lambda: randomisation_test([0.1, float("nan")], [0.1, 0.2]), "position 1 is nan"),
        (lambda: bootstrap_interval([[0.1, 0.2]]), r"shape \(1, 2\)"),
        (lambda: bootstrap_interval([0.1], level=95), "not 95"),
        (lambda: holm([0.1, 1.2]), "1.2"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
