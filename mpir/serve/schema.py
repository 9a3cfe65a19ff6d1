"""What OpenAPI says of the paths. Requests are checked by hand (one sentence for a mistake), so this only documents."""

from __future__ import annotations

from typing import Any

DESCRIPTION = """\
Ranks documents, and the sentences inside them, for a question. `/rerank`, `/v1/rerank` and `/v2/rerank` take the
requests of Cohere, Jina, Voyage, Text Embeddings Inference and vLLM, and answer as these do, with mpir's own figures
under `mpir`."""

_TEXTS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
_DOCUMENT = {
    "oneOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "title": {"type": "string"},
                "text": {"type": "string"},
                "abstract": {"type": "string"},
                "score": {"type": "number", "description": "of the first stage; all documents or none"},
            },
        },
    ]
}
_REQUEST = {
    "type": "object",
    "required": ["query"],
    "properties": {
        "query": {"type": "string"},
        "documents": {"type": "array", "items": _DOCUMENT, "minItems": 1},
        "texts": {**_TEXTS, "description": "documents as Text Embeddings Inference calls them"},
        "model": {"type": "string"},
        "top_n": {"type": "integer", "minimum": 1, "description": "results to return; more than there are means all"},
        "top_k": {"type": "integer", "minimum": 1, "description": "top_n as Voyage calls it"},
        "return_documents": {"type": "boolean", "description": "by default as the client's own server does"},
        "return_text": {"type": "boolean", "default": False, "description": "return_documents as TEI calls it"},
        "raw_scores": {"type": "boolean", "default": False, "description": "TEI: the blend instead of a probability"},
        "rank_fields": {"type": "array", "items": {"type": "string"}, "description": "Cohere v1: fields to read"},
        "relevant_spans": {
            "type": "object",
            "properties": {
                "mode": {"enum": ["enabled", "disabled"]},
                "threshold": {"type": "number", "default": 0.1},
                "max_spans": {"type": "integer", "minimum": 1},
            },
        },
        "mpir": {"type": "object", "properties": {"sentences": {"type": "integer", "minimum": 0, "default": 3}}},
    },
    "example": {
        "query": "Which gene is mutated in cystic fibrosis?",
        "documents": ["Cystic fibrosis is caused by mutations of CFTR.", "KRAS is mutated in pancreatic cancer."],
        "top_n": 2,
    },
}
_SEARCH = {
    "type": "object",
    "required": ["query"],
    "properties": {
        "query": {"type": "string"},
        "mode": {"type": "string", "default": "bm25", "description": "the first stage"},
        "k": {"type": "integer", "minimum": 1, "default": 100, "description": "candidates from the first stage"},
        "top_n": {"type": "integer", "minimum": 1, "default": 10},
        "sentences": {"type": "integer", "minimum": 0, "default": 3},
    },
}
_REFUSALS = {
    400: "The request is wrong; the message says how.",
    401: "The API key is missing or wrong.",
    404: "No such model, or no index.",
    408: "The request did not arrive in time.",
    403: "The Host or the Origin is not allowed.",
    413: "Too much of something; the message has the limit.",
    415: "The body is not called JSON by its Content-Type.",
    429: "Too many requests or searches wait; Retry-After says when to come back.",
    503: "The server stops.",
    504: "The ranking took too long.",
}


def _path(summary: str, request: dict[str, Any]) -> dict[str, Any]:
    body = {"required": True, "content": {"application/json": {"schema": request}}}
    responses = {status: {"description": text} for status, text in _REFUSALS.items()}
    return {"summary": summary, "openapi_extra": {"requestBody": body}, "responses": responses, "tags": ["ranking"]}


RERANK = _path("Rank documents for a query", _REQUEST)
SEARCH = _path("Search an index and rank what it finds", _SEARCH)
