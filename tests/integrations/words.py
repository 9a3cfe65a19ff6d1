"""A perspective that needs no model, and documents for it."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mpir.models.perspectives.base import Perspective, register

QUERY = "does aspirin thin blood"
TEXTS = ["A heart attack is a risk. Patients of a trial.", "Aspirin does thin blood. Yes.", "A gene in a cell."]


@register("words-for-tests")
class Words(Perspective):
    """How many of the question's words a sentence has, from 0 to 1."""

    name = "words"

    def score(self, question: str, sentences: Sequence[str]) -> npt.NDArray[np.float64]:
        """The share of the question's words."""
        words = set(question.lower().split())
        return np.array([len(words & set(text.lower().strip(".").split())) / len(words) for text in sentences])
