"""What a caller may hand over as documents: strings, dictionaries or Documents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mpir.corpora.jsonl import BODY_KEYS, ID_KEYS
from mpir.errors import InputError
from mpir.text import Document

DocumentLike = Document | str | Mapping[str, Any]


def as_documents(docs: Sequence[DocumentLike]) -> list[Document]:
    """Documents from whatever the caller has; the place in the list serves as id where there is none.

    A string is a document whose abstract is the string. A dictionary has the keys of JSON-lines corpora (pmid or id;
    title; abstract, text or contents) and perhaps a first-stage `score`.

    Raises:
        InputError: something else in the list, a value of the wrong type, or scores for some documents only.
    """
    if isinstance(docs, str | Mapping | Document):
        raise InputError(f"docs is a single {type(docs).__name__}; expected a list of documents.")
    documents = [_document(doc, number) for number, doc in enumerate(docs)]
    scored = [document.score is not None for document in documents]
    if any(scored) and not all(scored):
        number = scored.index(False)
        raise InputError(
            f"docs[{number}] (id {documents[number].id!r}) has no first-stage score though others have one; give every "
            "document a score, or none and mpir computes BM25 itself."
        )
    return documents


def _document(doc: DocumentLike, number: int) -> Document:
    if isinstance(doc, str):
        return Document(str(number), abstract=doc)
    if isinstance(doc, Mapping):
        body = next((key for key in BODY_KEYS if doc.get(key) is not None), BODY_KEYS[0])
        identity = next((doc[key] for key in ID_KEYS if doc.get(key) is not None), number)
        doc = Document(str(identity), _text(doc, "title", number), _text(doc, body, number), doc.get("score"))
    if not isinstance(doc, Document):
        raise InputError(f"docs[{number}] is {type(doc).__name__}; expected a string, a dictionary or a Document.")
    if doc.score is not None and not _is_finite(doc.score):
        raise InputError(
            f"docs[{number}] (id {doc.id!r}) has the score {doc.score!r}; expected a finite number or None."
        )
    return doc


def _text(doc: Mapping[str, Any], key: str, number: int) -> str:
    value = doc.get(key)
    if value is not None and not isinstance(value, str):
        raise InputError(f"docs[{number}]: {key} is {value!r:.60}; expected a string.")
    return value or ""


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
