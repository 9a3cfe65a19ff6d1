"""Passages by hand: which neighbours join, exact offsets, and the order of what comes out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.submissions.passages import LONGEST, ScoredSpan, join_adjacent
from mpir.errors import InputError

TEXT = "Iron falls.  Zinc rises. Lead stays. Gold?"
OFFSETS = [(0, 11), (13, 24), (25, 36), (37, 42)]


def spans(*scores: float) -> list[ScoredSpan]:
    return [ScoredSpan("abstract", *offsets, score) for offsets, score in zip(OFFSETS, scores, strict=True)]


@pytest.mark.parametrize(
    ("scores", "share", "groups"),
    [
        ((0, 4, 2, 1), 0.5, [[1, 2], [3], [0]]),
        ((0, 4, 2, 1), 0.51, [[1], [2], [3], [0]]),
        ((0, 4, 2, 1), 0.25, [[1, 2, 3], [0]]),
        ((3, 4, 3.5, 3.6), 0.0, [[1, 2, 3], [0]]),  # three at most, the better neighbour first
        ((4, 0, 4, 4), 1.0, [[0], [2, 3], [1]]),
        ((1, 1, 1, 1), 1.0, [[0, 1, 2], [3]]),
    ],
)
def test_neighbours_join_by_their_share(scores: tuple[float, ...], share: float, groups: list[list[int]]) -> None:
    assert join_adjacent(spans(*scores), share) == groups


def test_sentences_of_two_sections_never_join_and_no_sentence_is_no_passage() -> None:
    two = [ScoredSpan("title", 0, 5, 1.0), ScoredSpan("abstract", 0, 5, 1.0)]
    assert sorted(join_adjacent(two, 0.0)) == [[0], [1]]
    assert join_adjacent([], 0.5) == []
    with pytest.raises(InputError, match=r"sentences is 1\.5"):
        join_adjacent(two, 1.5)


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=4), st.floats(0, 1))
def test_every_sentence_is_in_one_passage(scores: list[float], share: float) -> None:
    groups = join_adjacent(spans(*scores), share)
    assert sorted(number for group in groups for number in group) == [0, 1, 2, 3]
    assert all(group == [*range(group[0], group[0] + len(group))] for group in groups)
    assert max(map(len, groups)) <= LONGEST
