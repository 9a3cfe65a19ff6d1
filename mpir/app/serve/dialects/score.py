"""The form of vLLM's score API: one query and its texts, or as many queries as texts, scored in their order."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, model_validator

from mpir.app.serve.dialects.base import Answer, Dialect
from mpir.app.serve.dialects.cohere import common_error
from mpir.app.serve.fields import Query
from mpir.app.serve.requests import Documents, RerankBody
from mpir.app.serve.settings import ApiError
from mpir.core.results import relevance_score

TEXTS = ("text_1", "text_2")
NAMES = (("queries", "documents"), ("queries", "items"), ("data_1", "data_2"))
"""Other names that vLLM has for text_1 and text_2."""


class ScoreBody(RerankBody):
    """A request of vLLM's score API: a text, or a list of one, and one or more texts; for pairs, see `pairs_in`."""

    query: Query = Field(alias="text_1")
    documents: Documents = Field(alias="text_2")

    @model_validator(mode="before")
    @classmethod
    def _as_lists(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        query, documents = texts_in(values)
        query = query[0] if isinstance(query, list) and len(query) == 1 else query
        return {**values, "text_1": query, "text_2": [documents] if isinstance(documents, str) else documents}


def texts_in(values: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the texts of both sides, by the first pair of names that the request has."""
    names = (pair for pair in (TEXTS, *NAMES) if values.keys() >= {*pair})
    first, second = next(names, TEXTS)
    return values.get(first), values.get(second)


def pairs_in(values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a request for each pair of two lists of one length, as vLLM reads them; else an empty list.

    Raises:
        ApiError: 400 for several queries with another number of texts.
    """
    queries, documents = texts_in(values)
    if not isinstance(queries, list) or len(queries) < 2:
        return []
    texts = documents if isinstance(documents, list) else [documents]
    if len(queries) != len(texts):
        raise ApiError(
            400,
            f"text_1 has {len(queries)} entries and text_2 has {len(texts)} (expected 1 and any number, or as many). "
            "Send one query with its texts, or two lists of one length.",
        )
    return [{**values, "text_1": query, "text_2": [text]} for query, text in zip(queries, texts, strict=True)]


def joined(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the answer to several pairs, in their order."""
    data = [{**item, "index": index} for index, answer in enumerate(answers) for item in answer["data"]]
    usage = {name: sum(answer["usage"][name] for answer in answers) for name in answers[0]["usage"]}
    return {**{name: value for name, value in answers[0].items() if name != "mpir"}, "data": data, "usage": usage}


def _answer(answer: Answer) -> dict[str, Any]:
    documents = sorted(answer.ranking.documents, key=lambda document: document.index)
    data = [{"index": document.index, "object": "score", "score": relevance_score(document)} for document in documents]
    created = int(time.time())
    about = {"model": answer.model, "data": data, "usage": answer.usage, "mpir": answer.about}
    return {"id": answer.id, "object": "list", "created": created, **about}


SCORE = Dialect(
    name="vllm-score",
    body=ScoreBody,
    answer=_answer,
    error=common_error,
    paths=frozenset({"/score", "/v1/score"}),
)
