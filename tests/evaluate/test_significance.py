"""Significance: exact small cases, agreement with scipy, seeds, and values that cannot be compared."""

import numpy as np
import pytest
from scipy import stats

from mpir.errors import InputError
from mpir.evaluate import bootstrap_interval, grouped_t_test, holm, randomisation_test


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


def test_groups_of_one_question_are_scipys_paired_test():
    generator = np.random.default_rng(1)
    first, second = generator.random(12), generator.random(12) + 0.2
    expected = stats.ttest_rel(first, second).pvalue
    assert grouped_t_test(first, second, groups=12) == pytest.approx(expected)
    assert grouped_t_test(second, first, groups=12, seed=7) == pytest.approx(expected)


def test_groups_are_means_and_depend_on_the_seed():
    # Two groups of two: differences are (1 + 2)/2 and (3 + 4)/2, or in other pairs; t has one degree of freedom.
    first = np.array([1.0, 2.0, 3.0, 4.0])
    result = {round(grouped_t_test(first, np.zeros(4), groups=2, seed=seed), 6) for seed in range(20)}
    possible = [stats.ttest_1samp(pair, 0).pvalue for pair in ([1.5, 3.5], [2.0, 3.0])]
    assert result <= {0.0, *(round(p, 6) for p in possible)}  # 0: both groups have 2.5
    assert len(result) == 3


def test_groups_that_do_not_vary():
    assert grouped_t_test(np.ones(20), np.ones(20)) == 1
    assert grouped_t_test(np.ones(20), np.zeros(20)) == 0


@pytest.mark.parametrize(("first", "second", "groups"), [([1.0] * 9, [1.0] * 9, 10), ([1.0, 2.0], [1.0], 2)])
def test_groups_without_questions(first: list[float], second: list[float], groups: int):
    with pytest.raises(InputError, match=rf"{len(first)} and {len(second)} .*\b{groups} groups"):
        grouped_t_test(first, second, groups=groups)


def test_equal_systems_do_not_differ_and_p_is_never_zero():
    assert randomisation_test([0.1, 0.7], [0.1, 0.7]) == 1
    assert randomisation_test([0.1, 0.7], [0.1, 0.7], permutations=1500) == 1
    assert randomisation_test(np.ones(200), np.zeros(200), permutations=999) == 1 / 1000


def test_equal_sums_in_another_order_count_as_extreme():
    # Of ±0.3 ± 0.4 ± 0.3, six of eight are 0.4 or more apart from 0; in floating point, two of them are a little less.
    p = randomisation_test([0.0, 0.4, 0.3], [0.3, 0.0, 0.0], permutations=20_000)
    assert p == pytest.approx(6 / 8, abs=0.02)


@pytest.mark.parametrize("count", [0, -1, -5, 2.5, True])
def test_a_number_of_draws_is_a_whole_number_of_at_least_one(count):
    with pytest.raises(InputError, match=r"^permutations is "):
        randomisation_test([0.1, 0.7], [0.2, 0.3], permutations=count)
    with pytest.raises(InputError, match=r"^resamples is "):
        bootstrap_interval([0.1, 0.7], resamples=count)


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
        (lambda: randomisation_test([], []), "array is empty"),
        (lambda: randomisation_test([0.1, float("nan")], [0.1, 0.2]), "position 1 is nan"),
        (lambda: bootstrap_interval([[0.1, 0.2]]), r"shape \(1, 2\)"),
        (lambda: bootstrap_interval([0.1], level=95), "invalid interval level 95"),
        (lambda: holm([0.1, 1.2]), "1.2"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
