"""Learned rankers: a name that is none trains nothing."""

import pytest

from mpir.errors import InputError
from mpir.tune.dataset import Dataset
from mpir.tune.learned import LearnedRanker
from mpir.tune.objective import Objective


def test_a_mistyped_learner_is_refused(learnable: Dataset) -> None:
    with pytest.raises(InputError, match="the learner is 'feed-forwad net'; choose from logistic regression"):
        LearnedRanker.fit(Objective(learnable), "feed-forwad net")  # type: ignore[arg-type]
