"""The OpenAPI description of the paths, derived from the bodies and the dialects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from mpir.app.serve.dialects import DIALECTS
from mpir.app.serve.requests import SearchBody

DESCRIPTION = """\
Ranks documents, and the sentences inside them, for a question. `/rerank` and its other names take the requests of
Cohere, Jina, Voyage, Text Embeddings Inference, vLLM, llama.cpp and Xinference, and answer as these do, with mpir's own
figures under `mpir`."""
REFERENCE = "#/components/schemas/{model}"
EXAMPLE = {
    "query": "Which gene is mutated in cystic fibrosis?",
    "documents": ["Cystic fibrosis is caused by mutations of CFTR.", "KRAS is mutated in pancreatic cancer."],
    "top_n": 2,
}
_ERRORS = {
    400: "The request is wrong; the message says how.",
    401: "The API key is missing or wrong.",
    404: "No such model, or no index.",
    408: "The request did not arrive in time.",
    403: "The Host or the Origin is not allowed.",
    413: "Something exceeds a limit; the message states the limit.",
    415: "The Content-Type is not JSON.",
    429: "Too many requests or searches are waiting; Retry-After says when to try again.",
    503: "The server is stopping.",
    504: "The request took too long.",
}


def rerank_options(path: str) -> dict[str, Any]:
    """FastAPI's options for a reranking path."""
    bodies = [dialect.body for dialect in DIALECTS if path in dialect.paths]
    return _options("Rank documents for a query", bodies, EXAMPLE)


def search_options() -> dict[str, Any]:
    """FastAPI's options for ``/search``."""
    return _options("Search an index and rank its documents", [SearchBody], {"query": EXAMPLE["query"]})


def _options(summary: str, bodies: Sequence[type[BaseModel]], example: dict[str, Any]) -> dict[str, Any]:
    forms = [{"$ref": REFERENCE.format(model=body.__name__)} for body in bodies]
    content = {"application/json": {"schema": {"anyOf": forms}, "example": example}}
    responses = {status: {"description": text} for status, text in _ERRORS.items()}
    extra = {"requestBody": {"required": True, "content": content}}
    return {"summary": summary, "openapi_extra": extra, "responses": responses, "tags": ["ranking"]}


class DocumentedApp(FastAPI):
    """An application whose OpenAPI description has the schemas of all bodies."""

    def openapi(self) -> dict[str, Any]:
        """The description, cached."""
        if self.openapi_schema is None:
            bodies: list[type[BaseModel]] = [SearchBody, *(dialect.body for dialect in DIALECTS)]
            _, definitions = models_json_schema([(body, "validation") for body in bodies], ref_template=REFERENCE)
            super().openapi().setdefault("components", {}).setdefault("schemas", {}).update(definitions["$defs"])
        return self.openapi_schema or {}
