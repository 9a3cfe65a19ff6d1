"""Request bodies as pydantic models, with all defaults; OpenAPI is derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, SkipValidation

from mpir.app.serve.cost import check_tokens, document_tokens, query_tokens
from mpir.app.serve.documents import read_documents
from mpir.app.serve.fields import (
    Body,
    Count,
    CountOrZero,
    Flag,
    Query,
    Share,
    Text,
    an_object_as,
    expected,
    validated,
)
from mpir.app.serve.settings import ApiError, Limits
from mpir.core.text import Document
from mpir.integrations.common import SENTENCES
from mpir.reranking.evidence import FLOOR


class DocumentFields(Body):
    """A document that is an object. This class only documents its fields; mpir.reranking.inputs reads them."""

    id: Text = ""
    title: Text = ""
    text: Text = ""
    abstract: Text = ""
    score: float | None = Field(default=None, description="of the first stage; all documents or none")


class RelevantSpans(Body):
    """Cohere v2's request for the sentences at or above a threshold, the best ones first."""

    mode: Annotated[Literal["enabled", "disabled"], expected('"enabled" or "disabled"')] = "enabled"
    threshold: Share = 0.1
    max_spans: Count | None = None


class EvidenceBudget(Body):
    """The budget of the sentences to hand on to a language model."""

    max_tokens: Count = Field(default=1000, description="tokens in all, of four characters each")
    min_answer_probability: Share | None = Field(
        default=None, description=f"the least probability of a sentence to answer; {FLOOR} where there is a calibration"
    )


class Extras(Body):
    """mpir's own options."""

    sentences: CountOrZero = Field(default=SENTENCES, description="sentences of every result")


Documents = Annotated[
    list[SkipValidation[str | DocumentFields]], Field(min_length=1), expected("a list of one or more documents")
]


class RerankBody(Body):
    """The fields common to all dialects. Each dialect names `documents` and `top_n` as its clients do."""

    query: Query
    documents: Documents
    model: Text | None = None
    top_n: CountOrZero | None = Field(
        default=None, validation_alias=AliasChoices("top_n", "top_k"), description="results to return; 0 means all"
    )
    return_documents: Flag = Field(default=False, description="send the documents back")
    return_text: Flag = Field(default=False, description="the same for clients of Text Embeddings Inference")
    raw_scores: Flag = Field(default=False, description="TEI: the logit instead of the relevance from 0 to 1")
    rank_fields: Annotated[list[Text], expected("a list of the names of fields")] | None = Field(
        default=None, description="Cohere v1: fields of the documents to read"
    )
    relevant_spans: Annotated[RelevantSpans, an_object_as('{"mode": "enabled"}')] | None = Field(
        default=None, description="Cohere v2: sentences that answer"
    )
    min_probability: Share | None = Field(default=None, description="results of at least this probability")
    timeout_ms: Count | None = Field(
        default=None, description="answer in this time; documents that it does not reach keep what words say of them"
    )
    evidence: Annotated[EvidenceBudget, an_object_as('{"max_tokens": 500}')] | None = Field(
        default=None, description="the sentences to hand on to a language model, within a budget of tokens"
    )
    mpir: Annotated[Extras, an_object_as(f'{{"sentences": {SENTENCES}}}')] = Extras()


class SearchBody(Body):
    """A search of an index."""

    query: Query
    mode: Text = Field(default="bm25", description="the first stage")
    k: Count = Field(default=100, description="candidates from the first stage")
    top_n: Count = Field(default=10, validation_alias=AliasChoices("top_n", "top_k"), description="results to return")
    sentences: CountOrZero = Field(default=SENTENCES, description="sentences of every result")
    start: Text = Field(default="", description="mode pubmed: the earliest publication date, such as 2015 or 2015-03")
    end: Text = Field(default="", description="mode pubmed: the latest publication date")
    types: Annotated[list[Text], expected("a list of publication types")] = Field(
        default=[], description="mode pubmed: publication types by NLM's names, one of which must match"
    )

    @property
    def limits(self) -> dict[str, Any]:
        """The limits on dates and types, as PubMed's first stage takes them."""
        return {"start": self.start or None, "end": self.end or None, "types": self.types}


@dataclass(frozen=True, slots=True)
class RerankRequest:
    """A request within the limits: its body and its parsed documents."""

    body: RerankBody
    documents: tuple[Document, ...]
    tokens: int
    """The cost of scoring the request, in estimated tokens."""

    @property
    def top_n(self) -> int | None:
        """The number of results that the client wants; None means all, as does 0, which vLLM's clients send."""
        return self.body.top_n or None

    @property
    def with_documents(self) -> bool:
        """Whether to send the documents back."""
        return self.body.return_documents or self.body.return_text

    @property
    def spans(self) -> RelevantSpans | None:
        """The client's request for relevant spans, if any."""
        spans = self.body.relevant_spans
        return spans if spans and spans.mode == "enabled" else None

    def raw_document(self, index: int) -> dict[str, Any]:
        """A document as the client sent it: its own fields, or its text under "text"."""
        document: Any = self.body.documents[index]
        return dict(document) if isinstance(document, Mapping) else {"text": document}


def read_rerank(model: type[RerankBody], values: Mapping[str, Any], limits: Limits) -> RerankRequest:
    """Read a rerank request from a body.

    Raises:
        ApiError: 400 for an invalid value, 413 for one beyond a limit.
    """
    body = validated(model, values)
    _check_query(body.query, limits)
    documents = read_documents(body.documents, model.name_of("documents"), body.rank_fields, limits)
    tokens = document_tokens(documents)
    check_tokens(tokens, limits)
    return RerankRequest(body, documents, 1 + tokens + query_tokens(body.query, documents))


def read_search(values: Mapping[str, Any], limits: Limits) -> SearchBody:
    """Read a search request from a body. Raises ApiError as `read_rerank`."""
    body = validated(SearchBody, values)
    _check_query(body.query, limits)
    if "k" not in body.model_fields_set:
        return body.model_copy(update={"k": min(body.k, limits.documents)})
    if body.k > limits.documents:
        raise ApiError(413, f"k is {body.k}; expected at most {limits.documents}.")
    return body


def _check_query(query: str, limits: Limits) -> None:
    if len(query) > limits.query:
        raise ApiError(413, f"query has {len(query)} characters; expected at most {limits.query}.")
