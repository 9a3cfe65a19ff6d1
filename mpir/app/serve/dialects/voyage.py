"""Voyage's form."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from mpir.app.serve.dialects.base import Answer, Dialect
from mpir.app.serve.fields import Count
from mpir.app.serve.requests import RerankBody


class VoyageBody(RerankBody):
    """A request of Voyage."""

    top_n: Count | None = Field(default=None, alias="top_k", description="results to return")


def _answer(answer: Answer) -> dict[str, Any]:
    data = answer.results(lambda index: answer.request.documents[index].text)
    return {"object": "list", "data": data, "model": answer.model, "usage": answer.usage, "mpir": answer.about}


VOYAGE = Dialect(
    name="voyage",
    body=VoyageBody,
    answer=_answer,
    error=lambda _, api_error: {"detail": api_error.message},
    signs=frozenset({"top_k", "truncation"}),
    other_signs=frozenset({"top_n"}),
)
