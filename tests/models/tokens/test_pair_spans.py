"""The spans of a pair that is read: everything once, and of a long pair passages that fit and cover it."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mpir.models.tokens.pair_spans import divide_pairs, passages_of, spans, truncated, truncated_left


def test_pairs_that_fit_are_read_as_they_are_and_long_ones_in_several_spans() -> None:
    result = divide_pairs(np.array([2, 4, 0]), np.array([3, 30, 20]), 20, passages_of)
    assert result.pair_of.tolist() == [0, 1, 1, 1, 2]
    assert result.bounds.tolist() == [[0, 2, 0, 3], [0, 4, 0, 16], [0, 4, 7, 23], [0, 4, 14, 30], [0, 0, 0, 20]]
    assert result.lengths.tolist() == [5, 20, 20, 20, 20]


def test_long_pairs_may_be_cut() -> None:
    result = divide_pairs(np.array([4, 2]), np.array([30, 3]), 20, truncated)
    assert result.pair_of.tolist() == [0, 1]
    assert result.bounds.tolist() == [[0, 4, 0, 16], [0, 2, 0, 3]]


def test_long_pairs_may_be_cut_on_the_left() -> None:
    result = divide_pairs(np.array([4, 2, 30]), np.array([30, 3, 40]), 20, truncated_left)
    assert result.bounds.tolist() == [[0, 4, 14, 30], [0, 2, 0, 3], [20, 30, 30, 40]]


def test_there_may_be_no_pairs() -> None:
    none = np.zeros(0, np.int64)
    result = divide_pairs(none, none, 20, passages_of)
    assert (result.pair_of.shape, result.bounds.shape, result.lengths.shape) == ((0,), (0, 4), (0,))


LENGTHS = st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90)), max_size=6)


@given(LENGTHS, st.integers(16, 60))
def test_each_pair_has_the_spans_that_it_has_without_others(lengths: list[tuple[int, int]], room: int) -> None:
    columns = np.array(lengths, np.int64).reshape(-1, 2)
    result = divide_pairs(columns[:, 0], columns[:, 1], room, passages_of)
    assert sorted(set(result.pair_of.tolist())) == list(range(len(lengths)))
    assert (np.diff(result.pair_of) >= 0).all()
    for pair, (question, sentence) in enumerate(lengths):
        fits = question + sentence <= room
        expected = [[0, question, 0, sentence]] if fits else passages_of(question, sentence, room).tolist()
        assert result.bounds[result.pair_of == pair].tolist() == expected
    assert (result.lengths <= room).all()


@given(st.integers(0, 300), st.integers(0, 300), st.integers(16, 60))
def test_passages_cover_every_place_of_both_texts(question: int, sentence: int, room: int) -> None:
    covered = np.zeros((question + 1, sentence + 1), bool)
    for a, b, c, d in passages_of(question, sentence, room).tolist():
        assert 0 <= a <= b <= question
        assert 0 <= c <= d <= sentence
        assert b - a + d - c <= room
        covered[a:b, c:d] = True
    assert covered[:question, :sentence].all()
    if question <= room - room // 4:
        assert {(a, b) for a, b, _, _ in passages_of(question, sentence, room).tolist()} == {(0, question)}


@given(st.integers(0, 500), st.integers(2, 60))
def test_spans_overlap_by_half(count: int, size: int) -> None:
    result = spans(count, size)
    assert result[0][0] == 0
    assert result[-1][1] == count
    for (_, end), (begin, _) in pairwise(result):
        assert end - begin >= size - max(1, size // 2)
