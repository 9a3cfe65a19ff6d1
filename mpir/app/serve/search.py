"""/search: search an index and rerank the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpir.app.serve.requests import SearchBody
from mpir.core.results import relevance_score
from mpir.core.text import Document
from mpir.integrations.common import details
from mpir.reranking.ranking import Ranking
from mpir.search.pubmed.results import SearchResult


def searches_of(result: Sequence[Document]) -> dict[str, Any]:
    """The queries sent and the warnings, if the first stage used services on the network."""
    return result.to_dict() if isinstance(result, SearchResult) else {}


def search_answer(identity: str, request: SearchBody, ranking: Ranking) -> dict[str, Any]:
    """The best documents, best first."""
    results = [
        {
            "rank": rank,
            "relevance_score": relevance_score(document),
            "text": document.text,
            **details(document, request.sentences),
        }
        for rank, document in enumerate(ranking.documents[: request.top_n], 1)
    ]
    counts = {"candidates": ranking.candidates, "unread": ranking.unread}
    return {"id": identity, "query": request.query, **counts, "results": results}
