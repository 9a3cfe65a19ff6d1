"""Perspectives that count letters, so that every score is worked out by hand."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mpir import Perspective, Weights
from mpir.reranking.ranking import Ranking


class Count(Perspective):
    """How often the sentence has the letter of the perspective's name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.array([text.count(self.name) for _, text in pairs], float)


def count_at(level: Any, *, role: Any = "evidence", default_weight: Any = None) -> Count:
    """A perspective of such a level and role."""
    perspective = Count("y")
    perspective.level, perspective.role, perspective.default_weight = level, role, default_weight
    return perspective


LETTERS = Weights(
    {"x": 1.0, "y": 0.5}, alpha_context=0.1, beta={"bm25": 0.2}, beta_sentences=0.5, w=(1.0, 0.5), normalise="none"
)


def ids(ranking: Ranking) -> list[str]:
    return [document.id for document in ranking.documents]
