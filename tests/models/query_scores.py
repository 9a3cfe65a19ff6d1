"""The scores that a perspective gives the texts of one query."""

from collections.abc import Sequence
from typing import Any

from mpir import Perspective


def query_scores(perspective: Perspective, query: str, texts: Sequence[str]) -> Any:
    """Return the scores (N,) of N texts, as the perspective returns them."""
    result = perspective.score_pairs([(query, text) for text in texts])
    return result[0] if isinstance(result, tuple) else result
