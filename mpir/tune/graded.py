"""Read questions with graded candidates, as saved by the explain page: gold and candidates in one file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpir.core.text.types import Document, Question
from mpir.errors import InputError, error_context, format_paths, format_value
from mpir.files.read import place_of, read_json_lines
from mpir.reranking.inputs import as_documents

QUESTION_FORM = '{"query": "…", "documents": [{"id": "…", "title": "…", "abstract": "…", "grade": 2}, …]}'


class GradedLists:
    """The candidates of each query in the file, used as a first stage."""

    def __init__(self, lists: Mapping[str, Sequence[Document]]) -> None:
        """Raises InputError for an id with two texts."""
        self._lists = lists
        self._documents: dict[str, Document] = {}
        for documents in lists.values():
            for document in documents:
                known = self._documents.setdefault(document.id, document)
                if known.sections != document.sections:
                    raise InputError(
                        f"the document {format_value(document.id)} has different texts under two queries; grade them "
                        "in one session, or save a file for each query."
                    )

    def search(self, query: str, k: int = 100) -> list[Document]:
        """Return the first k candidates of a query in the file."""
        return list(self._lists[query][:k])

    def document(self, id: str) -> Document:
        """Return the document of an id."""
        return self._documents[id]

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self._documents)


def read_graded(paths: Sequence[str]) -> tuple[list[Question], GradedLists]:
    """Read the questions that have a document with a grade above 0, and their candidates.

    A question's id is a digest of its words; documents of a grade above 0 are its gold.

    Raises:
        InputError: an invalid line, a grade that is not a whole number of at least 0, a repeated query, or no question
            with a grade above 0.
    """
    questions: list[Question] = []
    lists: dict[str, Sequence[Document]] = {}
    for location, query, documents in _lines(paths):
        lists[query] = documents
        gold = tuple(document.id for document in documents if _grade(document, location) > 0)
        if gold:
            questions.append(Question(hashlib.sha256(query.encode()).hexdigest()[:12], query, documents=gold))
    if not questions:
        raise InputError(
            f"{format_paths(paths)}: no document has a grade above 0, which tuning needs; grade some on the page."
        )
    return questions, GradedLists(lists)


def graded_lines(paths: Sequence[str]) -> Iterator[tuple[str, list[Document], dict[str, int]]]:
    """Yield each query with its candidates, and the grades of those that have one. Raises InputError."""
    for location, query, documents in _lines(paths):
        graded = [document for document in documents if document.metadata.get("grade") is not None]
        yield query, documents, {document.id: _grade(document, location) for document in graded}


def _lines(paths: Sequence[str]) -> Iterator[tuple[str, str, list[Document]]]:
    known: set[str] = set()
    for path in paths:
        for number, record in read_json_lines(path):
            location = place_of(path, number)
            query, documents = record.get("query"), record.get("documents")
            if not isinstance(query, str) or not isinstance(documents, list):
                raise InputError(
                    f"{location}: a question of another form (expected {QUESTION_FORM}); save it from the page."
                )
            if query in known:
                raise InputError(f"{location}: repeated query; keep one of its lines.")
            known.add(query)
            with error_context(location):
                yield location, query, as_documents(documents)


def _grade(document: Document, location: str) -> int:
    value: Any = document.metadata.get("grade", 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(
            f"{location}: the document {format_value(document.id)} has the grade {format_value(value)} (expected a "
            "whole number from 0); correct it."
        )
    return value
