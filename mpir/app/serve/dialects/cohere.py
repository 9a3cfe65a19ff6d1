"""Cohere, and the services that share the form of its first version: Jina, vLLM, llama.cpp, Xinference and others."""

from __future__ import annotations

import math
from typing import Any

from pydantic import Field

from mpir.app.serve.dialects.base import COHERE_PATHS, Answer, Dialect
from mpir.app.serve.fields import Flag
from mpir.app.serve.requests import RelevantSpans, RerankBody
from mpir.app.serve.settings import ApiError
from mpir.core.results import RankedDocument, RankedSentence, relevance_score
from mpir.core.text import ABSTRACT


class CommonBody(RerankBody):
    """A request of Cohere's first version, of Jina, vLLM, llama.cpp or Xinference."""

    return_documents: Flag = Field(default=True, description="send the documents back, as Jina and vLLM do")


class CohereBody(RerankBody):
    """A request of Cohere's second version."""


def _common(answer: Answer) -> dict[str, Any]:
    """An answer with the fields of all services that share the form."""
    request = answer.request
    tokens = {"input_tokens": request.tokens, "output_tokens": 0}  # Xinference's
    return {
        "id": answer.id,
        "model": answer.model,
        "object": "list",
        "results": answer.results(request.raw_document),
        "usage": answer.usage,
        "meta": {**_meta(answer, "1"), "tokens": tokens},
        "mpir": answer.about,
    }


def _cohere(answer: Answer) -> dict[str, Any]:
    results = []
    for document in answer.best:
        request = answer.request.spans
        fields = {"relevant_spans": spans(document, request)} if request else {}
        results.append(answer.result(document, **fields))
    return {"id": answer.id, "results": results, "meta": _meta(answer, "2"), "mpir": answer.about}


def _meta(answer: Answer, version: str) -> dict[str, Any]:
    """Cohere bills a query with up to 100 documents as one unit."""
    units = math.ceil(len(answer.request.documents) / 100)
    return {"api_version": {"version": version}, "billed_units": {"search_units": units}}


def common_error(identity: str, api_error: ApiError) -> dict[str, Any]:
    """An error with the fields of all services that share the form."""
    error = {"message": api_error.message, "type": _type_of(api_error), "param": None, "code": api_error.status}
    return {"id": identity, "message": api_error.message, "detail": api_error.message, "error": error}


def _type_of(api_error: ApiError) -> str:
    """vLLM's type for such an error."""
    type_of_status = {401: "AuthenticationError", 404: "NotFoundError", 429: "RateLimitError"}
    return type_of_status.get(api_error.status, "BadRequestError" if api_error.status < 500 else "InternalServerError")


COMMON = Dialect(name="cohere-v1/jina/vllm", body=CommonBody, answer=_common, error=common_error)
COHERE = Dialect(
    name="cohere-v2",
    body=CohereBody,
    answer=_cohere,
    error=lambda identity, api_error: {"id": identity, "message": api_error.message},
    paths=COHERE_PATHS,
)


def spans(document: RankedDocument, request: RelevantSpans) -> list[dict[str, Any]]:
    """The sentences at or above the threshold as Cohere's relevant spans, best first.

    `start` and `end` count code points in the document's text: the title and a line break, if there is a title, and
    the body.
    """
    scored = [(sentence, relevance_score(sentence)) for sentence in document.sentences]
    scored.sort(key=lambda item: item[1], reverse=True)
    answering = [_span(document, sentence, score) for sentence, score in scored if score >= request.threshold]
    return answering[: request.max_spans]


def _span(document: RankedDocument, sentence: RankedSentence, score: float) -> dict[str, Any]:
    before = len(document.title) + 1 if sentence.section == ABSTRACT and document.title else 0
    mpir_fields = {
        "section": sentence.section,
        "score": sentence.score,
        "scores": sentence.scores,
        "shares": sentence.shares,
    }
    return {"start": before + sentence.begin, "end": before + sentence.end, "score": score, "mpir": mpir_fields}
