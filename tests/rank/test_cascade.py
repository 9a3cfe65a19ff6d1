"""The first pass over sentences: by hand, and what holds for any question."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.errors import InputError
from mpir.rank.cascade import check_share, first_pass, promise

DOCUMENT_OF = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 2])
LEXICAL = np.array([4.0, 0.0, 2.0, 0.0, 0.0, 3.0, 4.0, 1.0, 0.0, 0.0])
BM25 = np.array([9.0, 7.0, 5.0])


def test_promise_by_hand() -> None:
    expected = [2.0, 1.0, 1.5, 0.5, 0.5, 0.75, 1.0, 0.25, 0.0, 0.0]
    assert promise(LEXICAL, BM25, DOCUMENT_OF) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("share", "kept"),
    [
        (None, range(10)),
        (1, range(10)),
        (0.7, [0, 1, 2, 3, 4, 5, 6]),
        (0.5, [0, 1, 2, 3, 6]),
        (0.41, [0, 1, 2, 3, 6]),
        (0.1, [0, 3, 6]),  # the best sentence of every document, though these are more
    ],
)
def test_first_pass_by_hand(share: float | None, kept: Any) -> None:
    assert first_pass(LEXICAL, BM25, DOCUMENT_OF, share).tolist() == list(kept)


@given(
    parts=st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=6),
    bm25=st.lists(st.integers(-3, 3), min_size=6, max_size=6),
    share=st.floats(0.01, 1),
)
def test_every_document_keeps_its_best_and_greater_shares_keep_more(
    parts: list[list[int]], bm25: list[int], share: float
) -> None:
    document_of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    lexical = np.array([value for part in parts for value in part], float)
    scores = np.array(bm25[: len(parts)], float)
    kept = first_pass(lexical, scores, document_of, share)
    with_text = {number for number, part in enumerate(parts) if part}
    assert set(document_of[kept]) == with_text
    assert len(kept) >= max(share * len(lexical) - 1e-6, len(with_text))
    assert len(kept) < max(share * len(lexical) + 1, len(with_text) + 1)
    for number in with_text:
        assert lexical[kept][document_of[kept] == number].max() == max(parts[number])
    assert set(kept) <= set(first_pass(lexical, scores, document_of, min(1.0, share + 0.2)))


def test_scale_of_the_first_stage_does_not_matter() -> None:
    usual = first_pass(LEXICAL, BM25, DOCUMENT_OF, 0.5)
    assert first_pass(LEXICAL, BM25 / 1000 - 3, DOCUMENT_OF, 0.5).tolist() == usual.tolist()


@pytest.mark.parametrize("share", [0, -0.1, 1.5, float("nan"), True, "0.3"])
def test_shares_out_of_bounds_are_refused(share: Any) -> None:
    with pytest.raises(InputError, match=r"cascade is .*; expected the share of sentences to score, above 0"):
        check_share(share)
