"""/search: an index's documents, reranked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpir.integrations.common import details
from mpir.rank.ranking import Ranking
from mpir.serve.requests import SearchBody


def search_answer(
    identity: str, request: SearchBody, ranking: Ranking, relevance: Callable[[float], float]
) -> dict[str, Any]:
    """The best documents, best first."""
    results = [
        {
            "rank": rank,
            "relevance_score": relevance(document.score),
            "text": document.text,
            **details(document, request.sentences),
        }
        for rank, document in enumerate(ranking.documents[: request.top_n], 1)
    ]
    counts = {"candidates": ranking.candidates, "unread": ranking.unread}
    return {"id": identity, "query": request.query, **counts, "results": results}
