"""A perspective that needs no model, and documents for it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.registration import register

QUERY = "does aspirin thin blood"
TEXTS = ["A heart attack is a risk. Patients of a trial.", "Aspirin does thin blood. Yes.", "A gene in a cell."]


@register("words-for-tests")
class Words(Perspective):
    """How many of the question's words a sentence has, from 0 to 1."""

    name = "words"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> npt.NDArray[np.float64]:
        """The share of the question's words."""
        words = [(set(query.lower().split()), set(text.lower().strip(".").split())) for query, text in pairs]
        return np.array([len(query & text) / len(query) for query, text in words])
