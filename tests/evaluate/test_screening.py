"""Scores from decisions: scikit-learn's classifier, mixed with the order before them."""

import numpy as np
import pytest

from mpir.errors import InputError
from mpir.evaluate.screening import ALPHA, TRUST, DecisionRanker

TEXTS = [
    "iron deficiency in heart failure", "iron given by vein", "dialysis in children", "heart failure and exercise",
    "children with asthma", "iron tablets for anaemia",
]  # fmt: skip
BEFORE = np.array([3.0, 2.0, 2.5, 1.0, 0.5, 0.0])


def standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std()


def test_the_classifier_is_scikit_learn_s_and_counts_as_much_as_relevant_documents_were_found() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.naive_bayes import MultinomialNB

    read, relevant = [0, 2, 4], np.array([True, False, False])
    words = TfidfVectorizer().fit_transform(TEXTS)
    model = MultinomialNB(alpha=ALPHA).fit(words[read], relevant, sample_weight=[3.0, 1.0, 1.0])
    log_odds = np.subtract(*model.predict_log_proba(words).T[::-1])
    expected = standard(log_odds) / (1 + TRUST) + standard(BEFORE) * TRUST / (1 + TRUST)
    assert DecisionRanker(TEXTS, BEFORE).scores(read, relevant) == pytest.approx(expected)


def test_a_decision_moves_what_has_the_same_words() -> None:
    scores = DecisionRanker(TEXTS, np.zeros(6)).scores([1, 2], [True, False])
    assert scores[5] > scores[3] > scores[4]


@pytest.mark.parametrize("relevant", [[], [True, True], [False]])
def test_without_both_kinds_of_decisions_nothing_changes(relevant: list[bool]) -> None:
    scores = DecisionRanker(TEXTS, BEFORE).scores(range(len(relevant)), relevant)
    assert scores == pytest.approx(standard(BEFORE))


def test_decisions_and_documents_are_as_many() -> None:
    with pytest.raises(InputError, match="2 decisions on 1 documents"):
        DecisionRanker(TEXTS, BEFORE).scores([0], [True, False])


@pytest.mark.parametrize("texts", [[], ["", "–"]])
def test_texts_without_words_are_refused(texts: list[str]) -> None:
    with pytest.raises(InputError, match="none has a word"):
        DecisionRanker(texts, [0.0] * len(texts))
