"""The stopping test: by hand, against the paper's definition over all beginnings, and with impossible options."""

from math import comb, floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.errors import InputError
from mpir.evaluate.stopping import stopping_test


def test_five_documents_by_hand() -> None:
    """One relevant document, then two irrelevant ones of the four left: a second would be unread with C(2,1)/C(4,1)."""
    result = stopping_test([True, False, False], 5, recall=1.0, confidence=0.4)
    assert result.p == pytest.approx(2 / 4)
    assert (result.read, result.relevant, result.stop) == (3, 1, True)


def test_nothing_read_and_everything_read() -> None:
    assert stopping_test([], 10).p == 1
    assert not stopping_test([], 10).stop
    assert stopping_test([False] * 10, 10).stop
    assert stopping_test([True] * 10, 10).p == 0


def by_definition(decisions: list[bool], total: int, recall: float) -> float:
    """The paper's p-value, one beginning after the other, with binomial coefficients."""
    found, smallest = sum(decisions), 1.0
    for start in range(len(decisions)):
        before, drawn, urn = sum(decisions[:start]), len(decisions) - start, total - start
        in_urn, k = floor(found / recall - before + 1 + 1e-9), found - before
        if in_urn > urn:
            return 0.0
        ways = sum(comb(in_urn, x) * comb(urn - in_urn, drawn - x) for x in range(k + 1))
        smallest = min(smallest, ways / comb(urn, drawn))
    return smallest


@given(st.lists(st.booleans(), min_size=1, max_size=20), st.integers(0, 20), st.sampled_from([0.5, 0.8, 0.95, 1.0]))
def test_the_beginnings_after_relevant_documents_suffice(decisions: list[bool], unread: int, recall: float) -> None:
    total = len(decisions) + unread
    assert stopping_test(decisions, total, recall=recall).p == pytest.approx(
        by_definition(decisions, total, recall), abs=1e-9
    )


def test_a_random_order_misses_the_target_no_more_often_than_promised() -> None:
    """One look at a random sample: the test rejects a recall that is too low in at most 1 - confidence of the runs."""
    generator, wrong = np.random.default_rng(0), 0
    for _ in range(300):
        labels = generator.permutation(np.arange(100) < 10)
        result = stopping_test(labels[:60], 100, recall=0.9, confidence=0.9)
        wrong += result.stop and labels[:60].sum() < 9
    assert wrong / 300 <= 0.1


@pytest.mark.parametrize("recall", [0, -1, 1.01, float("nan"), "0.9"])
def test_an_impossible_recall(recall: float) -> None:
    with pytest.raises(InputError, match=f"recall is {recall!r};"):
        stopping_test([True], 5, recall=recall)


def test_an_impossible_confidence_and_too_few_candidates() -> None:
    with pytest.raises(InputError, match=r"confidence is 1\b"):
        stopping_test([True], 5, confidence=1)
    with pytest.raises(InputError, match="3 decisions for 2 candidates"):
        stopping_test([True, False, False], 2)
