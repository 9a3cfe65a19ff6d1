"""A dialect: the form of its clients' requests, and of the answers and errors that they expect."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import asdict, dataclass
from typing import Any

from mpir.app.serve.requests import RerankBody, RerankRequest
from mpir.app.serve.settings import ApiError
from mpir.core.results import RankedDocument, relevance_score
from mpir.errors import InputError
from mpir.integrations.common import details
from mpir.reranking.ranking import Ranking

PATHS = frozenset({"/rerank", "/v1/rerank", "/v2/rerank", "/reranking", "/v1/reranking"})
"""The paths for reranking; the last two are llama.cpp's aliases."""
COHERE_PATHS = frozenset({"/v2/rerank"})
"""The path that tells a dialect by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A request and its ranking."""

    id: str
    model: str
    request: RerankRequest
    ranking: Ranking

    @property
    def _chosen(self) -> Ranking:
        """The ranking of the requested documents by relevance. Raises ApiError (400) if a probability is missing."""
        least, number = self.request.body.min_probability, self.request.top_n
        ranking = self.ranking.by_relevance()
        ranking = ranking if number is None else ranking.top(number)
        try:
            return ranking if least is None else ranking.above(least)
        except InputError as error:
            raise ApiError(400, str(error)) from error

    @property
    def evidence(self) -> dict[str, Any]:
        """The passages within the requested budget, and how many sentences do not fit, with the best of them.

        Raises:
            ApiError: 400 for a budget below one sentence, or a least probability without a calibration.
        """
        budget = self.request.body.evidence
        if budget is None:
            return {}
        try:
            chosen = self._chosen.evidence(budget.max_tokens, min_answer_probability=budget.min_answer_probability)
        except InputError as error:
            raise ApiError(400, f"evidence: {error}") from error
        omitted = [asdict(passage) for passage in chosen.omitted[:1]]
        return {
            "evidence": [asdict(passage) for passage in chosen],
            "evidence_omitted": {"sentences": len(chosen.omitted), "best": omitted[0] if omitted else None},
        }

    @property
    def best(self) -> tuple[RankedDocument, ...]:
        """The ranked documents that the client requested."""
        return self._chosen.documents

    def result(self, document: RankedDocument, /, **fields: Any) -> dict[str, Any]:
        """A ranked document's result: its relevance, these fields, and mpir's own figures."""
        figures = details(document, self.request.body.mpir.sentences, query=self.ranking.query)
        return {"index": document.index, "relevance_score": relevance_score(document), **fields, "mpir": figures}

    def results(self, send: Callable[[int], Any]) -> list[dict[str, Any]]:
        """The results of the requested documents; `send` is the form of a document that the client wants back."""
        wants = self.request.with_documents
        return [self.result(item, **({"document": send(item.index)} if wants else {})) for item in self.best]

    @property
    def about(self) -> dict[str, Any]:
        """The number of candidates, the unread part of the query, and the weights without their record."""
        weights = {name: value for name, value in self.ranking.weights.to_dict().items() if name != "made_by"}
        counts = {"candidates": self.ranking.candidates, "unread": self.ranking.unread}
        return {**counts, "weights": weights, **self.evidence}

    @property
    def usage(self) -> dict[str, int]:
        """Token usage, estimated from text lengths, because models with different tokenizers may read the texts."""
        return {"total_tokens": self.request.tokens, "prompt_tokens": self.request.tokens}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A dialect applies to requests at its paths that have one of its `signs`, if it has any, and no `other_signs`.

    To add a dialect, add a module with such a value to this package, and an entry to the list in
    ``dialects/__init__.py``; or name such a value by an entry point of the group ``mpir.dialects``.
    """

    name: str
    body: type[RerankBody]
    answer: Callable[[Answer], Any]
    error: Callable[[str, ApiError], dict[str, Any]]
    paths: frozenset[str] = PATHS - COHERE_PATHS
    signs: frozenset[str] = frozenset()
    other_signs: frozenset[str] = frozenset()

    def fits(self, path: str, fields: Container[str]) -> bool:
        """Whether a request with these fields at this path belongs to the dialect."""
        has_sign = not self.signs or any(sign in fields for sign in self.signs)
        return path in self.paths and has_sign and not any(sign in fields for sign in self.other_signs)
