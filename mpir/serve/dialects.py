"""The shapes in which rerankers' clients ask, and expect answers and errors.

One handler reads them all. A dialect is told by the path and by what only its clients send: `texts` is Text Embeddings
Inference (TEI), `top_k` or `truncation` is Voyage, /v2/rerank is Cohere's second version; what remains is shared by
Cohere's first version, Jina and vLLM, and gets the union of their answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

from mpir.integrations.common import details
from mpir.rank.ranking import Ranking
from mpir.serve.requests import RerankRequest
from mpir.serve.settings import ApiError
from mpir.serve.spans import spans


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
    def best(self) -> tuple[Any, ...]:
        """The ranked documents that were asked for."""
        return self.ranking.documents[: self.request.best]

    def raw_document(self, index: int) -> dict[str, Any]:
        """A document as the client knows it: its own fields, or its text under "text"."""
        document = self.request.raw_documents[index]
        return dict(document) if isinstance(document, Mapping) else {"text": document}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The names of a request's fields, the forms of an answer and of an error, and whether documents come back unasked.

    Of those who share the common form, Jina sends them unless told not to, and vLLM always: their clients read them.
    """

    name: str
    answer: Callable[[Answer], Any]
    error: Callable[[str, ApiError], dict[str, Any]]
    documents: str = "documents"
    best: str = "top_n"
    returned: bool = False


def dialect_of(path: str, fields: Container[str]) -> Dialect:
    """The dialect of a request with these fields; of one without a readable body, see `telling`."""
    if not path.endswith("/rerank"):
        return COMMON
    if "texts" in fields and "documents" not in fields:
        return TEI
    if "top_k" in fields or "truncation" in fields:
        return VOYAGE
    return COHERE_2 if path.startswith("/v2/") else COMMON


def telling(raw: bytes) -> set[str]:
    """Which of the fields that tell dialects apart a body seems to have that could not be read, or not to its end."""
    return {name for name in ("texts", "documents", "top_k", "truncation") if f'"{name}"'.encode() in raw}


def _result(answer: Answer, document: Any) -> dict[str, Any]:
    return {"index": document.index, "relevance_score": answer.relevance(document.score)}


def _common(answer: Answer) -> dict[str, Any]:
    results = []
    for document in answer.best:
        shown = {"document": answer.raw_document(document.index)} if answer.request.with_documents else {}
        results.append({**_result(answer, document), **shown, **_mpir_fields(answer, document)})
    return {
        "id": answer.id,
        "model": answer.model,
        "object": "list",
        "results": results,
        "usage": _usage(answer),
        "meta": _meta(answer, "1"),
        "mpir": _about(answer),
    }


def _cohere_2(answer: Answer) -> dict[str, Any]:
    results = []
    for document in answer.best:
        span_request = answer.request.spans
        span_fields = (
            {"relevant_spans": spans(document, span_request, answer.sentence_relevance)} if span_request else {}
        )
        results.append({**_result(answer, document), **span_fields, **_mpir_fields(answer, document)})
    return {"id": answer.id, "results": results, "meta": _meta(answer, "2"), "mpir": _about(answer)}


def _voyage(answer: Answer) -> dict[str, Any]:
    data = []
    for document in answer.best:
        shown = {"document": answer.request.documents[document.index].text} if answer.request.with_documents else {}
        data.append({**_result(answer, document), **shown, **_mpir_fields(answer, document)})
    return {"object": "list", "data": data, "model": answer.model, "usage": _usage(answer), "mpir": _about(answer)}


def _tei(answer: Answer) -> list[dict[str, Any]]:
    results = []
    for document in answer.best:
        score = document.score if answer.request.raw_scores else answer.relevance(document.score)
        shown = {"text": answer.request.documents[document.index].text} if answer.request.with_documents else {}
        results.append({"index": document.index, **shown, "score": score})
    return results


def _mpir_fields(answer: Answer, document: Any) -> dict[str, Any]:
    return {"mpir": details(document, answer.request.sentences)}


def _about(answer: Answer) -> dict[str, Any]:
    """How many candidates were ranked, how much of the query was not read, and the weights without their record."""
    weights = {name: value for name, value in answer.ranking.weights.to_dict().items() if name != "made_by"}
    return {"candidates": answer.ranking.candidates, "unread": answer.ranking.unread, "weights": weights}


def _usage(answer: Answer) -> dict[str, int]:
    """Tokens are estimated from the length of the texts: several models with tokenizers of their own may read them."""
    return {"total_tokens": answer.request.tokens, "prompt_tokens": answer.request.tokens}


def _meta(answer: Answer, version: str) -> dict[str, Any]:
    """Cohere bills a query with up to 100 documents as one unit."""
    units = math.ceil(len(answer.request.raw_documents) / 100)
    return {"api_version": {"version": version}, "billed_units": {"search_units": units}}


def _common_error(identity: str, api_error: ApiError) -> dict[str, Any]:
    error = {"message": api_error.message, "type": kind_of(api_error), "param": None, "code": api_error.status}
    return {"id": identity, "message": api_error.message, "detail": api_error.message, "error": error}


def _tei_error(_: str, api_error: ApiError) -> dict[str, Any]:
    type_of_status = {429: "Overloaded", 503: "Unhealthy", 500: "Backend", 504: "Backend"}
    return {"error": api_error.message, "error_type": type_of_status.get(api_error.status, "Validation")}


def kind_of(api_error: ApiError) -> str:
    """What vLLM calls such an error."""
    type_of_status = {401: "AuthenticationError", 404: "NotFoundError", 429: "RateLimitError"}
    return type_of_status.get(api_error.status, "BadRequestError" if api_error.status < 500 else "InternalServerError")


COMMON = Dialect(name="cohere-v1/jina/vllm", answer=_common, error=_common_error, returned=True)
COHERE_2 = Dialect(
    name="cohere-v2", answer=_cohere_2, error=lambda identity, api_error: {"id": identity, "message": api_error.message}
)
VOYAGE = Dialect(name="voyage", answer=_voyage, error=lambda _, api_error: {"detail": api_error.message}, best="top_k")
TEI = Dialect(name="tei", answer=_tei, error=_tei_error, documents="texts")
