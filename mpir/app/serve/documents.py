"""Read the documents of a request, and limit their sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mpir.app.serve.settings import ApiError, Limits
from mpir.core.cancellation import raise_if_cancelled
from mpir.core.text import TITLE, Document
from mpir.core.text.split import Splitting, split
from mpir.errors import InputError, RepeatedIdError, format_value, shortened
from mpir.files.corpora.jsonl import BODY_KEYS
from mpir.reranking.inputs import as_documents

ENDS = ".!?%])\n<"
"""Every sentence ends at one of these characters, except a section's last sentence and the pieces of a long one."""
SHORTEST_PIECE = 80
"""The fewest characters in a piece of an overlong sentence: 40 words and the spaces between them."""


def read_documents(
    raw_documents: Sequence[Any], name: str, rank_fields: Sequence[str] | None, limits: Limits
) -> tuple[Document, ...]:
    """The documents in a request's field `name`; `rank_fields`, if given, limit what is read of objects.

    Raises:
        ApiError: 400 for a document without a text or any of the fields; 413 for too many or too long documents.
    """
    if len(raw_documents) > limits.documents:
        raise ApiError(
            413, f"{name} has {len(raw_documents)} entries; expected at most {limits.documents}: send several requests."
        )
    _check_fields(rank_fields, raw_documents)
    try:
        documents = _with_places([_by_fields(document, rank_fields) for document in raw_documents])
    except InputError as error:
        raise ApiError(400, str(error).replace("docs[", f"{name}[")) from None
    for number, document in enumerate(documents):
        if (length := len(document.text)) > limits.document:
            raise ApiError(
                413, f"{name}[{number}] has {length} characters; expected at most {limits.document}: split it."
            )
    return tuple(documents)


def _with_places(raw_documents: list[Any]) -> list[Document]:
    """The documents, identified by position where some share an id, as passages of one paper do."""
    try:
        return as_documents(raw_documents)
    except RepeatedIdError:
        return as_documents(raw_documents, doc_ids=range(len(raw_documents)))


def _check_fields(fields: Sequence[str] | None, raw_documents: Sequence[Any]) -> None:
    known = {key for document in raw_documents if isinstance(document, Mapping) for key in document}
    if fields and known and known.isdisjoint(fields):
        choices = shortened(", ".join(sorted(known)))
        raise ApiError(
            400, f"rank_fields is {format_value(fields)}, but no document has any of these; choose from {choices}."
        )


def _by_fields(document: Any, fields: Sequence[str] | None) -> Any:
    """Reduce a dictionary to Cohere's rank_fields: a title and a body, or several fields as one text."""
    if not isinstance(document, Mapping) or not fields:
        return document
    fields_present = {name: document[name] for name in fields if document.get(name) is not None}
    identity_fields = {key: value for key, value in document.items() if key in ("id", "score")}
    if fields_present.keys() <= {TITLE, *BODY_KEYS} and len(fields_present.keys() - {TITLE}) <= 1:
        return {**identity_fields, "text": "", **fields_present}
    return {**identity_fields, "text": "\n".join(f"{name}: {value}" for name, value in fields_present.items())}


def check_sentences(documents: Sequence[Document], limit: int, splitting: Splitting) -> None:
    """Count the sentences of documents.

    Raises:
        ApiError: there are more than `limit` (413).
        CancellationError: no client waits any more.
    """
    if most_sentences(documents) <= limit:
        return
    count = 0
    for document in documents:
        raise_if_cancelled()
        count += sum(len(split(text, splitting=splitting)) for text in document.sections.values())
        if count > limit:
            raise ApiError(
                413,
                f"the documents have more than {limit} sentences; "
                "rank fewer or shorter ones, or start the server with a larger serve.max_sentences.",
            )


def most_sentences(documents: Sequence[Document]) -> int:
    """An upper bound on the number of sentences, without splitting the documents."""
    texts = [text for document in documents for text in document.sections.values()]
    return sum(1 + len(text) // SHORTEST_PIECE + sum(text.count(end) for end in ENDS) for text in texts)
