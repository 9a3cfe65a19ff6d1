"""What a request asks for, checked by hand: one sentence says what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mpir.corpora.jsonl import BODY_KEYS
from mpir.errors import InputError, RepeatedIdError, format_value, shortened
from mpir.integrations.common import SENTENCES
from mpir.rank.inputs import as_documents
from mpir.rank.query_truncation import as_read
from mpir.serve.settings import ApiError, Limits
from mpir.text import TITLE, Document
from mpir.validation import is_finite, optional_whole_number


@dataclass(frozen=True, slots=True)
class Spans:
    """What Cohere calls relevant spans: the sentences at or above a threshold, the best ones first."""

    threshold: float
    max_spans: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankRequest:
    """A checked request. `raw_documents` are the documents as the client sent them, `documents` as mpir reads them."""

    query: str
    raw_documents: tuple[Any, ...]
    documents: tuple[Document, ...]
    best: int | None
    with_documents: bool
    raw_scores: bool
    spans: Spans | None
    sentences: int

    @property
    def tokens(self) -> int:
        """What it costs to score."""
        return tokens_of(self.query, self.documents)


def tokens_of(query: str, documents: Sequence[Document]) -> int:
    """What documents cost to score, estimated: four characters a token, and the query again for every sentence."""
    characters = sum(len(document.title) + len(document.abstract) for document in documents)
    sentences = max(len(documents) + characters // 120, sum(map(_apparent_sentences, documents)))
    return 1 + (characters + sentences * len(as_read(query))) // 4


def _apparent_sentences(document: Document) -> int:
    return sum(document.abstract.count(end) for end in (". ", "? ", "! "))


def read_rerank(
    body: Mapping[str, Any], limits: Limits, *, documents: str, best: str, returned: bool = False
) -> RerankRequest:
    """The request of a body, whose documents and number of results go by these names; unknown fields are ignored.

    `returned` says whether documents come back where the body does not say.

    Raises:
        ApiError: 400 for a value that is not as expected, 413 for too much of it.
    """
    raw_documents = _document_list(body, documents, limits)
    return RerankRequest(
        query=read_query(body, limits),
        raw_documents=tuple(raw_documents),
        documents=_documents(raw_documents, documents, body.get("rank_fields"), limits),
        best=whole_number(body, best, minimum=0 if best == "top_n" else 1) or None,  # vLLM's clients send 0 for all
        with_documents=_flag(body, "return_documents", returned) or _flag(body, "return_text"),
        raw_scores=_flag(body, "raw_scores"),
        spans=_spans(body),
        sentences=_sentences(body),
    )


def read_query(body: Mapping[str, Any], limits: Limits) -> str:
    """The query, a string that is not blank. Raises ApiError."""
    query = body.get("query")
    if not isinstance(query, str) or not query.strip():
        raise ApiError(400, f"query is {format_value(query)}; expected a string that is not empty.")
    if len(query) > limits.query:
        raise ApiError(413, f"query has {len(query)} characters; expected at most {limits.query}.")
    return query


def whole_number(body: Mapping[str, Any], name: str, *, minimum: int = 1) -> int | None:
    """A field that is a whole number of at least `minimum`, or missing. Raises ApiError."""
    try:
        return optional_whole_number(name, body.get(name), minimum=minimum)
    except InputError as error:
        raise ApiError(400, str(error)) from None


def _document_list(body: Mapping[str, Any], name: str, limits: Limits) -> list[Any]:
    raw_documents = body.get(name)
    if not isinstance(raw_documents, list) or not raw_documents:
        raise ApiError(400, f"{name} is {format_value(raw_documents)}; expected a list of one or more documents.")
    if len(raw_documents) > limits.documents:
        raise ApiError(
            413, f"{name} has {len(raw_documents)} entries; expected at most {limits.documents}: send several requests."
        )
    return raw_documents


def _documents(raw_documents: list[Any], name: str, fields: Any, limits: Limits) -> tuple[Document, ...]:
    _check_fields(fields, raw_documents)
    read = [_by_fields(document, fields) for document in raw_documents]
    try:
        documents = _with_places(read)
    except InputError as error:
        raise ApiError(400, str(error).replace("docs[", f"{name}[")) from None
    for number, document in enumerate(documents):
        if (length := len(document.text)) > limits.document:
            raise ApiError(
                413, f"{name}[{number}] has {length} characters; expected at most {limits.document}: split it."
            )
    return tuple(documents)


def _with_places(raw_documents: list[Any]) -> list[Document]:
    """The documents; where some share an id, as passages of one paper do, by their places, as answers name them."""
    try:
        return as_documents(raw_documents)
    except RepeatedIdError:
        return as_documents(raw_documents, doc_ids=range(len(raw_documents)))


def _check_fields(fields: Any, raw_documents: list[Any]) -> None:
    if fields is not None and not (isinstance(fields, list) and all(isinstance(field, str) for field in fields)):
        raise ApiError(400, f"rank_fields is {format_value(fields)}; expected a list of the names of fields.")
    known = {key for document in raw_documents if isinstance(document, Mapping) for key in document}
    if fields and known and known.isdisjoint(fields):
        choices = shortened(", ".join(sorted(known)))
        raise ApiError(
            400, f"rank_fields is {format_value(fields)}, but no document has any of these; choose from {choices}."
        )


def _by_fields(document: Any, fields: list[str] | None) -> Any:
    """A dictionary with only Cohere's rank_fields: a title and a body, or several as one text; all else as it is."""
    if not isinstance(document, Mapping) or not fields:
        return document
    fields_present = {name: document[name] for name in fields if document.get(name) is not None}
    identity_fields = {key: value for key, value in document.items() if key in ("id", "score")}
    if fields_present.keys() <= {TITLE, *BODY_KEYS} and len(fields_present.keys() - {TITLE}) <= 1:
        return {**identity_fields, "text": "", **fields_present}
    return {**identity_fields, "text": "\n".join(f"{name}: {value}" for name, value in fields_present.items())}


def _flag(body: Mapping[str, Any], name: str, default: bool = False) -> bool:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise ApiError(400, f"{name} is {format_value(value)}; expected true or false.")
    return default if value is None else value


def _spans(body: Mapping[str, Any]) -> Spans | None:
    options = body.get("relevant_spans")
    if options is None:
        return None
    if not isinstance(options, Mapping) or options.get("mode", "enabled") not in ("enabled", "disabled"):
        raise ApiError(400, f'relevant_spans is {format_value(options)}; expected an object with the mode "enabled".')
    threshold = options.get("threshold", 0.1)
    if not is_finite(threshold) or not 0 <= threshold <= 1:
        raise ApiError(400, f"relevant_spans.threshold is {format_value(threshold)}; expected a number from 0 to 1.")
    max_spans = whole_number(options, "max_spans")
    return Spans(float(threshold), max_spans) if options.get("mode", "enabled") == "enabled" else None


def _sentences(body: Mapping[str, Any]) -> int:
    options = body.get("mpir")
    if options is not None and not isinstance(options, Mapping):
        raise ApiError(
            400, f'mpir is {format_value(options)}; expected an object such as {{"sentences": {SENTENCES}}}.'
        )
    count = whole_number(options or {}, "sentences", minimum=0)
    return SENTENCES if count is None else count
