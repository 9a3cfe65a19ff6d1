"""The form of Text Embeddings Inference (TEI): a bare list, which has no room for mpir's own figures."""

from __future__ import annotations

import math
import sys
from typing import Any

from pydantic import Field

from mpir.app.serve.dialects.base import Answer, Dialect
from mpir.app.serve.requests import Documents, RerankBody
from mpir.app.serve.settings import ApiError
from mpir.core.results import relevance_score


class TeiBody(RerankBody):
    """A request of Text Embeddings Inference."""

    documents: Documents = Field(alias="texts")


def log_odds(probability: float) -> float:
    """Return the logit of a probability, finite even where that is rounded to 0 or 1."""
    rounded = min(max(probability, sys.float_info.min), 1 - sys.float_info.epsilon / 2)
    return math.log(rounded / (1 - rounded))


def _answer(answer: Answer) -> list[dict[str, Any]]:
    request, results = answer.request, []
    is_raw = request.body.raw_scores and all(0 <= relevance_score(document) <= 1 for document in answer.ranking)
    for document in answer.best:
        relevance = relevance_score(document)
        score = log_odds(relevance) if is_raw else relevance
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
