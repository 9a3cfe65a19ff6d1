"""A listwise reranker's order of a query's documents, as a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mpir.core.text.types import Pair
from mpir.models.perspectives.base import Perspective, by_query
from mpir.models.perspectives.cross_encoder import checkpoint_folder
from mpir.models.perspectives.registration import Loading, register
from mpir.types import F64

if TYPE_CHECKING:
    from mpir.models.listwise_model import ListwiseModel
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


@register("listwise")
def load_listwise(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``checkpoint`` is a folder inside the bundle or a hub name."""
    from mpir.models.listwise_model import ListwiseModel

    reading = dict(options)
    checkpoint, revision = str(checkpoint_folder(options, loading)), reading.pop("revision", None)
    del reading["checkpoint"]
    reading["trust_remote_code"] = bool(reading.pop("trust_remote_code", False)) and loading.trust_code
    folder = str(loading.find_model(checkpoint, revision))
    return ListwisePerspective(
        name, ListwiseModel(folder, device=loading.device, precision=loading.precision, **reading)
    )
