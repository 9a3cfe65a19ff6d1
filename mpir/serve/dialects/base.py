"""A dialect: how its clients ask, and the forms in which they expect answers and errors."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

from mpir.integrations.common import details
from mpir.rank.ranking import Ranking
from mpir.rank.results import RankedDocument
from mpir.serve.requests import RerankBody, RerankRequest
from mpir.serve.settings import ApiError

PATHS = frozenset({"/rerank", "/v1/rerank", "/v2/rerank", "/reranking", "/v1/reranking"})
"""Where rerankers are asked; the last two are llama.cpp's other names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A request, its ranking, and the map (a score to 0-1) of documents and of sentences."""

    id: str
    model: str
    request: RerankRequest
    ranking: Ranking
    relevance: Callable[[float], float]
    sentence_relevance: Callable[[float], float]

    @property
    def best(self) -> tuple[RankedDocument, ...]:
        """The ranked documents that were asked for."""
        return self.ranking.documents[: self.request.top_n]

    def result(self, document: RankedDocument, /, **fields: Any) -> dict[str, Any]:
        """A ranked document with its relevance, these fields, and mpir's own figures."""
        figures = details(document, self.request.body.mpir.sentences)
        return {"index": document.index, "relevance_score": self.relevance(document.score), **fields, "mpir": figures}

    @property
    def about(self) -> dict[str, Any]:
        """How many candidates were ranked, how much of the query was not read, and the weights without their record."""
        weights = {name: value for name, value in self.ranking.weights.to_dict().items() if name != "made_by"}
        return {"candidates": self.ranking.candidates, "unread": self.ranking.unread, "weights": weights}

    @property
    def usage(self) -> dict[str, int]:
        """Tokens, estimated from the length of the texts: several models with tokenizers of their own may read them."""
        return {"total_tokens": self.request.tokens, "prompt_tokens": self.request.tokens}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A dialect is spoken at its paths by requests with one of its `signs`, where it has any, and no `other_signs`.

    A new dialect is a module of this package, with such a value, and a place in the list of ``dialects/__init__.py``.
    """

    name: str
    body: type[RerankBody]
    answer: Callable[[Answer], Any]
    error: Callable[[str, ApiError], dict[str, Any]]
    paths: frozenset[str] = PATHS
    signs: frozenset[str] = frozenset()
    other_signs: frozenset[str] = frozenset()

    def fits(self, path: str, fields: Container[str]) -> bool:
        """Whether a request with these fields at this path is of the dialect."""
        has_sign = not self.signs or any(sign in fields for sign in self.signs)
        return path in self.paths and has_sign and not any(sign in fields for sign in self.other_signs)
