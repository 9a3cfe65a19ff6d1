"""BM25 as a perspective of documents: computed from query and text alone, with document frequencies from PubMed.

The first stage's score depends on its collection or on the other candidates; this one may be compared between lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mpir.core.text.terms import pubmed_background
from mpir.core.text.types import Pair
from mpir.models.perspectives.base import Perspective, by_query
from mpir.models.perspectives.registration import register
from mpir.search.memory import AVERAGE_LENGTH, DEFAULT_B, DEFAULT_K1, background_scores
from mpir.types import F64

FORM = 1
"""Version of the scores, to which tuned weights belong; increase it when scores change."""


@register("bm25")
class Bm25Perspective(Perspective):
    """The BM25 score of a document's text."""

    name, level = "words", "document"
    has_identity = False
    """Not cached, as reading the cache would take longer than the score."""

    def score_pairs(self, pairs: Sequence[Pair], **_: Any) -> F64:
        """Return scores (N,) of pairs, 0 where query and text share no term."""
        scores = np.zeros(len(pairs))
        for query, rows in by_query(pairs):
            scores[rows] = background_scores(query, [pairs[row][1] for row in rows], pubmed_background())
        return scores

    @property
    def identity(self) -> Mapping[str, Any]:
        """BM25's settings."""
        return {
            "name": self.name,
            "kind": "bm25",
            "k1": DEFAULT_K1,
            "b": DEFAULT_B,
            "length": AVERAGE_LENGTH,
            "form": FORM,
        }
