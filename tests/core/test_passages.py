"""Passages by hand: which neighbours join, exact offsets, and the order of what comes out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.candidates import Candidates
from mpir.core.columns import Columns, Layout
from mpir.core.passages import LONGEST, ScoredSpan, join_adjacent
from mpir.core.text import Document, Sentence
from mpir.core.weights import Weights
from mpir.errors import InputError
from mpir.reranking.present import rank
from mpir.reranking.ranking import Ranking

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
    with pytest.raises(InputError, match=r"^the share of joined sentences is 1.5; expected a number from 0 to 1"):
        join_adjacent(two, 1.5)


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=4), st.floats(0, 1))
def test_every_sentence_is_in_one_passage(scores: list[float], share: float) -> None:
    groups = join_adjacent(spans(*scores), share)
    assert sorted(number for group in groups for number in group) == [0, 1, 2, 3]
    assert all(group == [*range(group[0], group[0] + len(group))] for group in groups)
    assert max(map(len, groups)) <= LONGEST


@pytest.fixture
def ranking() -> Ranking:
    document = Document("d", "Metals", TEXT)
    sentences = [
        Sentence(document="d", section="abstract", begin=begin, end=end, text=TEXT[begin:end]) for begin, end in OFFSETS
    ]
    columns = Columns(
        layout=Layout.of(("bm25",), ("o",)),
        documents=np.ones((1, 1)),
        sentences=np.array([[0.0, 4.0, 3.0, 1.0]]).T,
        question_of=np.zeros(1, int),
        document_of=np.zeros(4, int),
    )
    scored = Candidates.of("?", [document], sentences=sentences, columns=columns, lexical=np.zeros(4))
    return rank(scored, Weights({"o": 1.0}, alpha_context=0.0))


def test_a_ranking_of_passages_has_exact_offsets_and_the_scores_of_the_best_sentences(ranking: Ranking) -> None:
    (document,) = ranking.joined(0.5).documents
    assert [(item.text, item.begin, item.end) for item in document.sentences] == [
        ("Zinc rises. Lead stays.", 13, 36),
        ("Gold?", 37, 42),
        ("Iron falls.", 0, 11),
    ]
    assert document.sentences[0].scores == {"o": 4.0}
    assert document.best == (0, 0, 1)
    assert document.score == ranking[0].score
    assert ranking.joined(1.0) == ranking
