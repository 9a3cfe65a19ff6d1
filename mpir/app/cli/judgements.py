"""Judgements of a user over texts of their own: a review, a table, lists that the page saved, or TREC qrels."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpir.core.text import Document
from mpir.errors import InputError, format_names, format_value
from mpir.files.csv_rows import csv_table

log = logging.getLogger(__name__)
COLUMNS = {"question": ("question", "query"), "document": ("document", "text", "abstract"), "grade": ("grade",)}
"""Names of a table's columns."""


@dataclass(frozen=True, slots=True)
class JudgedList:
    """A question's judged documents, and whether each is relevant: graded above 0."""

    query: str
    documents: tuple[Document, ...]
    relevant: tuple[bool, ...]


def read_judged_lists(path: str, queries: str | None = None, docs: Sequence[str] = ()) -> list[JudgedList]:
    """Read the judged lists of a file; `queries` and `docs` have the texts of TREC qrels.

    Raises:
        InputError: the file cannot be read, or has no judgements.
    """
    suffix = Path(path).suffix.lower()
    if docs or queries:
        rows = _of_qrels(path, queries, docs)
    elif suffix == ".mpir":
        rows = _of_review(path)
    elif suffix in (".csv", ".tsv"):
        rows = _of_table(path, "\t" if suffix == ".tsv" else ",")
    elif suffix in (".jsonl", ".ndjson"):
        rows = _of_lists(path)
    else:
        raise InputError(
            f"{path}: unknown judgements (expected a review NAME.mpir, a table .csv or .tsv, or the page's .jsonl). "
            "TREC qrels need --queries and --docs, too."
        )
    lists: dict[str, list[tuple[Document, bool]]] = {}
    for query, document, grade in rows:
        lists.setdefault(query, []).append((document, grade > 0))
    if not lists:
        raise InputError(f"{path}: has no judgements; grade about 50 documents.")
    return [JudgedList(query, *map(tuple, zip(*pairs, strict=True))) for query, pairs in lists.items()]


Rows = Iterator[tuple[str, Document, int]]


def _of_review(path: str) -> Rows:
    from mpir.app.explain.library import only_reviewer
    from mpir.app.explain.review import Review

    if not Path(path).is_file():
        raise InputError(f"{path}: there is no such file; give the review's file.")
    review = Review(Path(path))
    documents = {record.document.id: record.document for record in review.records()}
    for decision in review.decisions(only_reviewer(review)):
        if decision["grade"] is not None and decision["id"] in documents and decision["query"].strip():
            yield decision["query"], documents[decision["id"]], decision["grade"]


def _of_table(path: str, delimiter: str) -> Rows:
    """Yield each judgement of a table once, because a repeated one is no further evidence, and log how many repeat."""
    known: dict[tuple[str, str, str], int] = {}
    repeats = 0
    for line_number, query, document, grade in _graded_rows(path, delimiter):
        before = known.get(key := (query, document.title, document.abstract))
        if before is None:
            known[key] = grade
            yield query, document, grade
        elif before == grade:
            repeats += 1
        else:
            raise InputError(
                f"{path}:{line_number}: another grade for a document of the question {format_value(query)} (got "
                f"{grade}, and {before} before). Keep the row that is right."
            )
    if repeats:
        log.warning("%s: %d rows repeat others and count once", path, repeats)


def _graded_rows(path: str, delimiter: str) -> Iterator[tuple[int, str, Document, int]]:
    """Yield the graded rows of a table, each with its last line."""
    header, table = csv_table(path, delimiter=delimiter)
    heads = {name.strip().lower(): name for name in header}
    columns = {
        column: next((heads[name] for name in names if name in heads), None) for column, names in COLUMNS.items()
    }
    if absent := [column for column, name in columns.items() if name is None]:
        raise InputError(
            f"{path}:1: no column {format_names(absent)} (expected question, document and grade). Add or rename it."
        )
    for number, (line_number, row) in enumerate(table):
        query, text, grade = (row.get(str(columns[column]), "").strip() for column in COLUMNS)
        if not grade:
            continue
        if not grade.isascii() or not grade.isdigit():
            raise InputError(
                f"{path}:{line_number}: invalid grade {format_value(grade)} (expected a whole number from 0, or "
                "nothing)."
            )
        if not query or not text:
            raise InputError(f"{path}:{line_number}: a grade without a question or a document. Give both.")
        title = row.get(heads.get("title", ""), "").strip()
        yield line_number, query, Document(str(number), title, text), int(grade)


def _of_lists(path: str) -> Rows:
    from mpir.tune.graded import graded_lines

    for query, documents, grades in graded_lines([path]):
        for document in documents:
            if document.id in grades:
                yield query, document, grades[document.id]


def _of_qrels(path: str, queries: str | None, docs: Sequence[str]) -> Rows:
    from mpir.files.corpora.corpus import read_corpus
    from mpir.files.corpora.queries import read_queries
    from mpir.files.corpora.trec import read_qrels

    if not (queries and docs):
        raise InputError(f"{path}: TREC qrels need the texts of both queries and documents; give --queries and --docs.")
    qrels, texts = read_qrels(path), dict(read_queries(queries))
    judged: Mapping[str, Document] = {document.id: document for document in read_corpus(docs)}
    for query, grades in qrels.items():
        for name, grade in grades.items():
            if query not in texts or name not in judged:
                known, source = (texts, queries) if query not in texts else (judged, docs[0])
                raise InputError(
                    f"{path}: judges {format_value(name if query in texts else query)}, which {source} lacks "
                    f"({len(known)} are there); give the texts of all."
                )
            yield texts[query], judged[name], grade
