"""The form of Text Embeddings Inference (TEI): a bare list, which has no room for mpir's own figures."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from mpir.app.serve.dialects.base import Answer, Dialect
from mpir.app.serve.requests import Documents, RerankBody
from mpir.app.serve.settings import ApiError
from mpir.core.results import relevance_score


class TeiBody(RerankBody):
    """A request of Text Embeddings Inference."""

    documents: Documents = Field(alias="texts")


def _answer(answer: Answer) -> list[dict[str, Any]]:
    request, results = answer.request, []
    for document in answer.best:
        score = document.score if request.body.raw_scores else relevance_score(document)
        shown = {"text": request.documents[document.index].text} if request.with_documents else {}
        results.append({"index": document.index, **shown, "score": score})
    return results


def _error(_: str, api_error: ApiError) -> dict[str, Any]:
    type_of_status = {429: "Overloaded", 503: "Unhealthy", 500: "Backend", 504: "Backend"}
    return {"error": api_error.message, "error_type": type_of_status.get(api_error.status, "Validation")}


TEI = Dialect(
    name="tei",
    body=TeiBody,
    answer=_answer,
    error=_error,
    signs=frozenset({"texts"}),
    other_signs=frozenset({"documents"}),
)
