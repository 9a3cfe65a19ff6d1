"""The order of a query's documents by a listwise reranker as a perspective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mpir.core.text.types import Pair
from mpir.models.perspectives.base import Perspective, by_query
from mpir.models.perspectives.cross_encoder import model_folder
from mpir.models.perspectives.registration import Loading
from mpir.types import F64

if TYPE_CHECKING:
    from mpir.models.families.listwise._model import ListwiseModel
    from mpir.models.perspectives.cache import ScoreCache


class ListwisePerspective(Perspective):
    """The places of a query's documents: 1 for the best of N, and 1/N for the last.

    A score depends on the other documents, so it has no identity and is never cached.
    """

    level = "document"
    pairs_per_save = 2**31

    def __init__(self, name: str, model: ListwiseModel) -> None:
        """Read a model."""
        self.name, self.model = name, model

    def score_pairs(self, pairs: Sequence[Pair], *, cache: ScoreCache | None = None, progress: bool = False) -> F64:
        """Return scores (N,) of pairs that are all texts of their queries."""
        scores = np.zeros(len(pairs))
        for query, rows in by_query(pairs):
            order = self.model.order(query, [pairs[row][1] for row in rows])
            scores[rows[order]] = 1 - np.arange(len(rows)) / len(rows)
        return scores


def load_listwise(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``checkpoint`` is a folder inside the bundle or a hub name."""
    from mpir.models.families.listwise._model import ListwiseModel

    folder, reading = model_folder(options, loading)
    model = ListwiseModel(folder, device=loading.device, precision=loading.precision, **reading)
    return ListwisePerspective(name, model)
