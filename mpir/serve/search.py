"""/search: an index's documents, reranked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mpir.errors import format_value
from mpir.integrations.common import SENTENCES, details
from mpir.rank.ranking import Ranking
from mpir.serve.requests import read_query, whole_number
from mpir.serve.settings import ApiError, Limits

CANDIDATES, BEST = 100, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search: `k` candidates from the first stage, the `best` of them back, each with so many sentences."""

    query: str
    mode: str
    k: int
    best: int
    sentences: int


def read_search(body: Mapping[str, Any], limits: Limits) -> SearchRequest:
    """The search of a body. Raises ApiError."""
    mode = body.get("mode", "bm25")
    if not isinstance(mode, str):
        raise ApiError(400, f"mode is {format_value(mode)}; expected a string.")
    k = whole_number(body, "k") or min(CANDIDATES, limits.documents)
    if k > limits.documents:
        raise ApiError(413, f"k is {k}; expected at most {limits.documents}.")
    sentences = whole_number(body, "sentences", minimum=0)
    best = whole_number(body, "top_n") or BEST
    return SearchRequest(
        query=read_query(body, limits),
        mode=mode,
        k=k,
        best=best,
        sentences=SENTENCES if sentences is None else sentences,
    )


def search_answer(
    identity: str, request: SearchRequest, ranking: Ranking, relevance: Callable[[float], float]
) -> dict[str, Any]:
    """The best documents, best first."""
    results = [
        {
            "rank": rank,
            "relevance_score": relevance(document.score),
            "text": document.text,
            **details(document, request.sentences),
        }
        for rank, document in enumerate(ranking.documents[: request.best], 1)
    ]
    counts = {"candidates": ranking.candidates, "unread": ranking.unread}
    return {"id": identity, "query": request.query, **counts, "results": results}
