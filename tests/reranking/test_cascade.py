"""The first pass over sentences: by hand, and what holds for any question."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.errors import InputError
from mpir.reranking.cascade import (
    FEWEST,
    Share,
    check_share,
    first_pass,
    most_promising,
    part_of,
    promise,
    sentence_budget,
)

DOCUMENT_OF = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 2])
LEXICAL = np.array([4.0, 0.0, 2.0, 0.0, 0.0, 3.0, 4.0, 1.0, 0.0, 0.0])
BM25 = np.array([9.0, 7.0, 5.0])


def test_promise_by_hand() -> None:
    expected = [2.0, 1.0, 1.5, 0.5, 0.5, 0.75, 1.0, 0.25, 0.0, 0.0]
    assert promise(LEXICAL, BM25, DOCUMENT_OF) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        (10, range(10)),
        (11, range(10)),
        (7, [0, 1, 2, 3, 4, 5, 6]),
        (5, [0, 1, 2, 3, 6]),
        (1, [0, 3, 6]),  # the best sentence of every document, though these are more
    ],
)
def test_the_most_promising_by_hand(wanted: int, kept: Any) -> None:
    values = promise(LEXICAL, BM25, DOCUMENT_OF)
    assert most_promising(values, DOCUMENT_OF, wanted).tolist() == list(kept)


@pytest.mark.parametrize(
    ("share", "count"), [(None, 1000), (1, 1000), (0.3, 300), (0.3001, 301), (0.01, FEWEST), ("auto", 280)]
)
def test_a_share_goes_on_but_at_least_a_hundred(share: Share, count: int) -> None:
    random = np.random.default_rng(0)
    document_of = np.repeat(np.arange(50), 20)
    retained = first_pass(random.random(1000), random.random(50), document_of, share)
    assert len(retained) == count
    assert set(document_of[retained]) == set(range(50))


def test_documents_cut_to_a_sentence_each_are_no_list_of_sentences() -> None:
    random = np.random.default_rng(0)
    document_of = np.repeat(np.arange(150), 10)
    retained = first_pass(random.random(1500), random.random(150), document_of, 0.01)
    assert np.bincount(document_of[retained]).tolist() == [2] * 150
    singles = np.arange(150)
    assert first_pass(random.random(150), random.random(150), singles, 0.01).tolist() == singles.tolist()


def test_the_adaptive_cascade_lets_all_of_a_hundred_through_and_a_fifth_of_the_others() -> None:
    counts = [sentence_budget("auto", count) for count in (1, 100, 101, 105, 600, 10_100)]
    assert counts == [100, 100, 101, 101, 200, 2100]


def test_a_share_that_comes_out_even_is_not_rounded_up() -> None:
    assert [part_of(share, 100) for share in (0.07, 0.55, 0.551, 0.56)] == [7, 55, 56, 56]


def test_a_hundred_sentences_all_go_on() -> None:
    assert first_pass(LEXICAL, BM25, DOCUMENT_OF, 0.01).tolist() == list(range(10))


@given(
    parts=st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=6),
    bm25=st.lists(st.integers(-3, 3), min_size=6, max_size=6),
    wanted=st.integers(0, 40),
)
def test_every_document_keeps_its_best_and_more_keep_the_same(
    parts: list[list[int]], bm25: list[int], wanted: int
) -> None:
    document_of = np.repeat(np.arange(len(parts)), [len(section) for section in parts])
    lexical = np.array([value for section in parts for value in section], float)
    values = promise(lexical, np.array(bm25[: len(parts)], float), document_of)
    retained = most_promising(values, document_of, wanted)
    with_text = {number for number, section in enumerate(parts) if section}
    assert len(retained) == min(len(lexical), max(wanted, len(with_text)))
    assert set(document_of[retained]) == with_text
    for number in with_text:
        assert lexical[retained][document_of[retained] == number].max() == max(parts[number])
    assert set(retained) <= set(most_promising(values, document_of, wanted + 3))


def test_scale_of_the_first_stage_does_not_matter() -> None:
    usual = promise(LEXICAL, BM25, DOCUMENT_OF)
    assert promise(LEXICAL, BM25 / 1000 - 3, DOCUMENT_OF) == pytest.approx(usual)


@pytest.mark.parametrize("share", [0, -0.1, 1.5, float("nan"), True, "0.3"])
def test_shares_out_of_bounds_are_refused(share: Any) -> None:
    with pytest.raises(InputError, match="cascade is "):
        check_share(share)


def test_equal_sentences_are_chosen_by_their_ties() -> None:
    document_of = np.array([0, 0, 0, 1, 1, 1])
    chosen = most_promising(np.zeros(6), document_of, 3, ties=np.array([0, 5, 3, 1, 4, 2]))
    assert chosen.tolist() == [0, 3, 5]
