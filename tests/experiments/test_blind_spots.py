"""What a probability does not know: figures by hand, and the sets that were written for it."""

import json

import numpy as np
import pytest

from experiments.calibration import blind_spots
from mpir.core.text.claims import claim_of


@pytest.mark.parametrize("name", ["denials", "negations"])
def test_sets_have_sixty_different_rows(name: str) -> None:
    rows = blind_spots.rows_of(name, 100)
    assert len(rows) == len({json.dumps({k: v for k, v in row.items() if k != "id"}) for row in rows}) == 60
    assert all(text.strip() for row in rows for text in row.values())


def test_nearly_every_denial_is_marked_and_no_answer() -> None:
    rows = blind_spots.rows_of("denials", 60)
    assert sum(bool(claim_of(row["denial"], row["question"])) for row in rows) >= 55
    assert not any(claim_of(row["answer"], row["question"]) for row in rows)


def test_denials_by_hand() -> None:
    figures = blind_spots.denial_figures(np.array([[0.8, 0.9], [0.6, 0.2]]))
    assert figures["denial above"] == 0.5
    assert figures["answer - denial, mean"] == pytest.approx(0.15)
    assert (figures["answer >= 0.5"], figures["denial >= 0.5"]) == (1.0, 0.5)


def test_negations_by_hand() -> None:
    figures = blind_spots.negation_figures(np.array([[0.9, 0.1], [0.7, 0.6]]), np.array([[0.8, 0.2], [0.1, 0.3]]))
    assert figures["question: its answer first"] == 1.0
    assert figures["negation: its answer first"] == 0.5
    assert figures["same order for both"] == 0.5
    assert figures["one text, question and negation: mean distance"] == pytest.approx((0.1 + 0.1 + 0.6 + 0.3) / 4)


def test_unanswered_questions_by_hand() -> None:
    figures = blind_spots.unanswered_figures(np.array([[0.9, 0.6], [0.7, 0.1]]))
    assert figures["without gold: best >= 0.5"] == 0.5
    assert figures["all candidates: best, mean"] == pytest.approx(0.8)
    assert figures["gold above others"] == 1.0
