"""Learned rankers: features by hand, questions that leave one another alone, a name that is none trains nothing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from experiments.tuning.learning_to_rank import LearnedRanker, document_features, sentence_features
from mpir.core.columns import Columns, Layout
from mpir.errors import InputError
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from mpir.tune.space import Space


def test_a_mistyped_learner_is_refused(learnable: Dataset) -> None:
    with pytest.raises(InputError, match=r"'feed-forwad net'; .*logistic regression"):
        LearnedRanker.fit(Objective(learnable), "feed-forwad net")  # type: ignore[arg-type]


@pytest.mark.parametrize("learner", ["logistic regression", "feed-forward net"])
def test_a_question_is_answered_alone_as_among_others(learnable: Dataset, learner: Any) -> None:
    """A document with fewer than three sentences has a stand-in for the others, which no other question may move."""
    columns = learnable.columns  # without ties, which the rounding of a product over more or fewer rows may break
    noise = np.random.default_rng(2).random(columns.documents.shape)
    objective = Objective(replace(learnable, columns=replace(columns, documents=columns.documents + noise)))
    ranker = LearnedRanker.fit(objective, learner)
    together = objective.per_question(ranker.answers(objective))
    for number in np.flatnonzero(together > 0):
        single = objective.restricted([int(number)])
        np.testing.assert_allclose(single.per_question(ranker.answers(single)), together[[number]])


def test_features_of_sentences_by_hand() -> None:
    """Columns as they are, then from 0 to 1 among all of a question's sentences, of whatever document."""
    columns = Columns(
        layout=Layout.of(("bm25",), ("a",)),
        documents=np.array([[4.0], [2.0], [7.0]]),
        sentences=np.array([[0.0], [1.0], [4.0], [9.0]]),
        query_of=np.array([0, 0, 1]),
        document_of=np.array([0, 0, 1, 2]),
        queries=2,
    )
    assert sentence_features(columns).tolist() == [[0, 4, 0, 1], [1, 4, 0.25, 1], [4, 2, 1, 0], [9, 7, 0.5, 0.5]]


def test_a_sentence_that_is_lacking_counts_as_the_worst_in_training(learnable: Dataset) -> None:
    ranker = LearnedRanker.fit(Objective(learnable), "logistic regression")
    assert ranker.lowest == ranker.sentences.decision_function(sentence_features(learnable.columns)).min() < 0


def test_features_of_documents_by_hand() -> None:
    columns = Columns(
        layout=Layout.of(("bm25",), ("a",)),
        documents=np.array([[4.0], [2.0]]),
        sentences=np.zeros((5, 1)),
        query_of=np.zeros(2, np.int64),
        document_of=np.array([0, 1, 1, 1, 1]),
    )
    features = document_features(columns, np.array([0.5, 0.1, 0.4, 0.2, 0.3]), -7.0)
    assert features.tolist() == [[4, 1, 0.5, -7, -7, 1, 0, 0], [2, 0, 0.4, 0.3, 0.2, 1, 1, 1]]


@pytest.mark.parametrize("learner", ["logistic regression", "feed-forward net"])
def test_learned_fusion_learns_which_column_helps(learnable: Dataset, learner: str) -> None:
    objective, space = Objective(learnable), Space.of(learnable.columns)
    answers = LearnedRanker.fit(objective, learner).answers(objective)
    assert objective(answers) > objective(space.weights(space.coordinates(np.array([0, 1, 0, 0, 1, 0, 0.0]))))
