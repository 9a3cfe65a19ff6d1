"""BM25 as a perspective: the formula, and scores that do not depend on the other texts."""

import math
from pathlib import Path

import numpy as np
import pytest

from mpir.core.text.terms import Background, pubmed_background
from mpir.models.perspectives import score_pairs
from mpir.models.perspectives.base import to_scale
from mpir.models.perspectives.registration import Loading, build
from mpir.search.memory import AVERAGE_LENGTH, MemoryIndex, background_scores

BACKGROUND = Background(1000, {"aspirin": 10, "blood": 100})


def test_the_formula_by_hand() -> None:
    rare, common = math.log1p(990.5 / 10.5), math.log1p(900.5 / 100.5)
    texts = ["Aspirin helps the blood; aspirin works.", "Blood.", "The heart."]
    by_length = [0.6 * (0.6 + 0.4 * words / AVERAGE_LENGTH) for words in (5, 1)]
    expected = [rare * 2 / (2 + by_length[0]) + common / (1 + by_length[0]), common / (1 + by_length[1]), 0.0]
    scores = background_scores("does aspirin thin blood?", texts, BACKGROUND)
    assert scores.tolist() == pytest.approx(expected)


def test_texts_of_average_length_score_as_in_an_index() -> None:
    words = [f"w{number}" for number in range(AVERAGE_LENGTH - 1)]
    texts = [" ".join([name, *words]) for name in ("aspirin", "blood", "heart")]
    index = MemoryIndex(texts, background=BACKGROUND).scores("aspirin blood")
    np.testing.assert_allclose(background_scores("aspirin blood", texts, BACKGROUND), index, rtol=1e-5)


def test_a_score_does_not_depend_on_its_company() -> None:
    perspective = build({"name": "words", "kind": "bm25"}, Loading(folder=Path()))
    texts = ["Aspirin thins the blood.", "A long text on blood " + "and the heart " * 50, ""]
    together = score_pairs([perspective], [("aspirin and blood", text) for text in texts]).values[:, 0]
    alone = [score_pairs([perspective], [("aspirin and blood", text)]).values[0, 0] for text in texts]
    assert together.tolist() == alone
    assert perspective.level == "document"
    assert together[0] == background_scores("aspirin and blood", texts[:1], pubmed_background())[0]


def test_log_odds_begin_at_the_base_rate() -> None:
    logits = np.array([-1000.0, -20.0, math.log(0.02 / 0.98), math.log(0.5 / 0.5), 40.0])
    expected = [0.0, 0.0, math.log(2), math.log(50), 40 + math.log(49)]
    np.testing.assert_allclose(to_scale(logits, "log-odds"), expected, atol=1e-6)
