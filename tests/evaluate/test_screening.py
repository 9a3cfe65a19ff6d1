"""Scores from decisions: two machines on words and titles, one of which knows the order before the decisions."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.feature_extraction.text import TfidfVectorizer

from mpir import Document
from mpir.errors import InputError
from mpir.evaluate.screening import BALANCE, PENALTY, QUESTION, TITLE, DecisionRanker

TEXTS = [
    "iron deficiency in heart failure", "iron given by vein", "dialysis in children", "heart failure and exercise",
    "children with asthma", "iron tablets for anaemia",
]  # fmt: skip
DOCUMENTS = [Document(str(i), text.split()[0], text) for i, text in enumerate(TEXTS)]
BEFORE = np.array([3.0, 2.0, 2.5, 1.0, 0.5, 0.0])


def standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std()


def test_the_scores_are_the_mean_of_two_planes_that_minimise_the_squared_hinge() -> None:
    read, signs = [0, 2, 4], np.array([1, -1, -1])
    whole, title = (
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit_transform(texts).toarray()
        for texts in ([item.text for item in DOCUMENTS], [item.title for item in DOCUMENTS])
    )
    weights, margins = 3 * np.array([BALANCE, 0.5, 0.5]) / (1 + BALANCE), []
    for factor in (0, QUESTION):
        columns = [whole, TITLE**0.5 * title, np.ones((6, 1)), factor * standard(BEFORE)[:, None]]
        features = np.hstack(columns)

        def loss(plane: np.ndarray, features: np.ndarray = features) -> float:
            short = np.maximum(0, 1 - signs * (features[read] @ plane))
            return float(plane @ plane / 2 + PENALTY * weights @ short**2)

        margins.append(standard(features @ minimize(loss, np.zeros(features.shape[1]), tol=1e-12).x))
    scores = DecisionRanker(DOCUMENTS, BEFORE).scores(read, signs > 0)
    assert scores == pytest.approx(np.mean(margins, axis=0), abs=1e-3)


def test_a_decision_moves_what_has_the_same_words() -> None:
    scores = DecisionRanker(DOCUMENTS, np.zeros(6)).scores([1, 2], [True, False])
    assert scores[5] > scores[3] > scores[4]


def test_the_order_before_decides_between_documents_without_words() -> None:
    documents = [*DOCUMENTS, Document("8"), Document("9")]
    scores = DecisionRanker(documents, [*BEFORE, 1.0, 2.0]).scores([0, 2, 4, 5], [True, True, False, False])
    assert scores[7] > scores[6]


@pytest.mark.parametrize("relevant", [[], [True, True], [False]])
def test_without_both_kinds_of_decisions_nothing_changes(relevant: list[bool]) -> None:
    scores = DecisionRanker(DOCUMENTS, BEFORE).scores(range(len(relevant)), relevant)
    assert scores == pytest.approx(standard(BEFORE))


def test_decisions_and_documents_are_as_many() -> None:
    with pytest.raises(InputError, match="2 decisions on 1 documents"):
        DecisionRanker(DOCUMENTS, BEFORE).scores([0], [True, False])


def test_scores_and_documents_are_as_many() -> None:
    with pytest.raises(InputError, match="5 for 6 documents"):
        DecisionRanker(DOCUMENTS, BEFORE[:5])


@pytest.mark.parametrize("texts", [[], ["", "–"]])
def test_texts_without_words_are_refused(texts: list[str]) -> None:
    with pytest.raises(InputError, match="none has a word"):
        DecisionRanker([Document(str(i), "", text) for i, text in enumerate(texts)], [0.0] * len(texts))
