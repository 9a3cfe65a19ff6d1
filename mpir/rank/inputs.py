"""What a caller may hand over as documents: strings, dictionaries or Documents."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from mpir.corpora.jsonl import ID_KEYS, body_key
from mpir.errors import InputError
from mpir.text import TITLE, Document

DocumentLike = Document | str | Mapping[str, Any]


def as_documents(docs: Sequence[DocumentLike]) -> list[Document]:
    """Documents from whatever the caller has; the place in the list serves as id where there is none.

    A string is a document whose abstract is the string. A dictionary has the keys of JSON-lines corpora (pmid or id;
    title; abstract, text or contents) and perhaps first-stage scores: `score`, or several by name in `scores`.

    Raises:
        InputError: no list, something else in it, a dictionary without a text, a value of the wrong type, or scores for
            some documents only.
    """
    if isinstance(docs, str | Mapping | Document):
        raise InputError(f"docs is a single {type(docs).__name__}; expected a list of documents.")
    if not isinstance(docs, Iterable) or getattr(docs, "ndim", 1) != 1:
        raise InputError(
            f"docs is a {type(docs).__name__}; expected a list of documents (of a table, such as "
            "frame.to_dict('records'))."
        )
    documents = [_document(doc, number) for number, doc in enumerate(docs)]
    _check_even_scores(documents)
    scored = [document.score is not None for document in documents]
    if any(scored) and not all(scored):
        number = scored.index(False)
        raise InputError(
            f"docs[{number}] (id {documents[number].id!r}) has no first-stage score though others have one; give every "
            "document a score, or none and mpir computes BM25 itself."
        )
    return documents


def _check_even_scores(documents: Sequence[Document]) -> None:
    for number, document in enumerate(documents):
        if odd := sorted(set(document.scores) ^ set(documents[0].scores)):
            lacks = number if odd[0] not in document.scores else 0
            raise InputError(
                f"docs[{lacks}] (id {documents[lacks].id!r}) has no score {odd[0]!r} though others have one; give "
                "every document the same scores."
            )


def _document(doc: DocumentLike, number: int) -> Document:
    if isinstance(doc, str):
        return Document(str(number), abstract=doc)
    if isinstance(doc, Mapping):
        body = body_key(doc, f"docs[{number}]")
        identity = next((doc[key] for key in ID_KEYS if doc.get(key) is not None), number)
        scores = {} if doc.get("scores") is None else doc["scores"]
        doc = Document(str(identity), _or_blank(doc.get(TITLE)), _or_blank(doc.get(body)), doc.get("score"), scores)
    if not isinstance(doc, Document):
        raise InputError(f"docs[{number}] is {type(doc).__name__}; expected a string, a dictionary or a Document.")
    for name, text in doc.sections.items():
        if not isinstance(text, str):
            raise InputError(f"docs[{number}] (id {doc.id!r}): the {name} is {text!r:.60}; expected a string.")
    if not isinstance(doc.scores, Mapping):
        raise InputError(f"docs[{number}] (id {doc.id!r}): scores is {doc.scores!r:.60}; expected numbers by name.")
    for name, score in {"": doc.score, **doc.scores}.items():
        if (name or score is not None) and not _is_finite(score):
            raise InputError(
                f"docs[{number}] (id {doc.id!r}) has the score {name and f'{name!r} '}{score!r:.60}; expected a finite "
                "number or None."
            )
    return doc


def _or_blank(text: Any) -> Any:
    return "" if text is None else text


def _is_finite(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
