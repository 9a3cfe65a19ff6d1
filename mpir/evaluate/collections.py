"""Test collections for a benchmark, from ir_datasets or local files, with candidates from BM25 or a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mpir.core.text.types import Document
from mpir.errors import InputError, format_names, format_value, shortened
from mpir.extras import needs
from mpir.files.corpora.corpus import read_corpus
from mpir.files.corpora.queries import read_queries
from mpir.files.corpora.trec import read_qrels, read_run
from mpir.search.memory import MemoryIndex

MOST_IN_MEMORY = 1_000_000
"""The most documents that BM25 indexes in memory; larger collections need a run with candidates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Judged queries with their candidates, best first, each with its first-stage score.

    Attributes:
        name: the collection's name in tables.
        queries: query id → text.
        candidates: query id → documents.
        qrels: query id → document id → grade.
        first_stage: the name of the method that retrieved the candidates.
    """

    name: str
    queries: Mapping[str, str]
    candidates: Mapping[str, Sequence[Document]]
    qrels: Mapping[str, Mapping[str, int]]
    first_stage: str


def open_local(
    corpus: Sequence[str], topics: str, qrels: str, run: str | None, *, depth: int, limit: int | None
) -> Collection:
    """Read a collection from local files: a corpus, queries, judgements and optionally a TREC run.

    Raises:
        InputError: a file that cannot be read, or no judged query among the queries.
    """
    judged = read_qrels(qrels)
    queries = judged_queries(read_queries(topics), judged, topics, limit)
    name = Path(topics).name
    if run is None:
        candidates = find_candidates(list(read_corpus(list(corpus))), queries, depth)
        return Collection(name=name, queries=queries, candidates=candidates, qrels=judged, first_stage="BM25")
    candidates = run_candidates(run, read_corpus(list(corpus)), queries, depth)
    return Collection(name=name, queries=queries, candidates=candidates, qrels=judged, first_stage=Path(run).name)


def open_dataset(name: str, run: str | None, *, depth: int, limit: int | None) -> Collection:
    """Open a dataset from ir_datasets, which downloads its files.

    Raises:
        InputError: no such dataset, one without queries or judgements, or one that is too large for BM25 in memory.
        MissingExtraError: ir_datasets is not installed.
    """
    with needs("benchmark", "a dataset by name"):
        import ir_datasets
    try:
        dataset = ir_datasets.load(name)
        absent = [table for table in ("docs", "queries", "qrels") if not getattr(dataset, f"has_{table}")()]
    except KeyError as error:
        message = f"dataset {format_value(name)}: ir_datasets has no such dataset; see ir-datasets.com."
        raise InputError(message) from error
    if absent:
        raise InputError(f"dataset {format_value(name)}: has no {format_names(absent)}; give a split, such as …/test.")
    try:
        return _read_dataset(name, dataset, run, depth=depth, limit=limit)
    except InputError:
        raise
    except Exception as error:  # HTTP, file and parser errors alike
        reason = shortened(f"{type(error).__name__}: {error}", 160)
        raise InputError(f"dataset {format_value(name)}: cannot be fetched or read ({reason}).") from error


def _read_dataset(name: str, dataset: Any, run: str | None, *, depth: int, limit: int | None) -> Collection:
    qrels: dict[str, dict[str, int]] = {}
    for judgement in dataset.qrels_iter():
        qrels.setdefault(judgement.query_id, {})[judgement.doc_id] = int(judgement.relevance)
    texts = ((query.query_id, query.default_text()) for query in dataset.queries_iter())
    queries = judged_queries(texts, qrels, name, limit)
    documents = (_as_document(record) for record in dataset.docs_iter())
    if run is not None:
        candidates = run_candidates(run, documents, queries, depth)
        return Collection(name=name, queries=queries, candidates=candidates, qrels=qrels, first_stage=Path(run).name)
    if (count := dataset.docs_count()) is not None and count > MOST_IN_MEMORY:
        raise InputError(
            f"dataset {format_value(name)}: has {count:,} documents, too many for BM25 in memory (at most "
            f"{MOST_IN_MEMORY:,}); give candidates as a TREC run."
        )
    candidates = find_candidates(list(documents), queries, depth)
    return Collection(name=name, queries=queries, candidates=candidates, qrels=qrels, first_stage="BM25")


def _as_document(record: Any) -> Document:
    """A document from ir_datasets, with a separate title where it has one."""
    title = getattr(record, "title", "") or ""
    body = next((text for key in ("abstract", "text", "body") if (text := getattr(record, key, None))), None)
    return Document(record.doc_id, title, record.default_text() if body is None else body)


def judged_queries(
    queries: Iterable[tuple[str, str]], qrels: Mapping[str, Mapping[str, int]], source: str, limit: int | None
) -> dict[str, str]:
    """The first `limit` queries that have a relevant document. Raises InputError where there is none."""
    judged = ((name, text) for name, text in queries if any(grade > 0 for grade in qrels.get(name, {}).values()))
    chosen = dict(islice(judged, limit))
    if not chosen:
        raise InputError(f"{source}: none of its queries has a relevant document; give their judgements.")
    return chosen


def find_candidates(documents: Sequence[Document], queries: Mapping[str, str], depth: int) -> dict[str, list[Document]]:
    """BM25's best documents for each query, with their scores."""
    index = MemoryIndex([document.text for document in documents])
    candidates = {}
    for name, query in queries.items():
        scores = index.scores(query)
        best = np.argsort(-scores, kind="stable")[:depth]
        candidates[name] = [replace(documents[i], score=float(scores[i])) for i in best]
    return candidates


def run_candidates(
    path: str, documents: Iterable[Document], queries: Mapping[str, str], depth: int | None
) -> dict[str, list[Document]]:
    """A run's best documents for each query, with their scores and texts.

    Raises:
        InputError: a document of the run that the corpus lacks, or a query that is not in the run.
    """
    ranked = {
        query: dict(islice(sorted(scores.items(), key=lambda item: -item[1]), depth))
        for query, scores in read_run(path).items()
        if query in queries
    }
    if absent := [query for query in queries if query not in ranked]:
        raise InputError(f"{path}: has no lines for the queries {format_names(absent, 3)}; give a run that has them.")
    needed = {name for scores in ranked.values() for name in scores}
    texts = {document.id: document for document in documents if document.id in needed}
    if absent := sorted(needed - texts.keys()):
        raise InputError(f"{path}: the corpus lacks its documents {format_names(absent, 3)}; give the run's corpus.")
    return {query: [replace(texts[name], score=score) for name, score in ranked[query].items()] for query in queries}


def read_run_queries(
    path: str, corpus: Sequence[str], topics: str, depth: int | None
) -> Iterator[tuple[str, str, list[Document]]]:
    """Yield the id, text and documents of each query of a run. Raises InputError as `run_candidates`."""
    texts = dict(read_queries(topics))
    names = [name for name in read_run(path) if name in texts]
    if not names:
        raise InputError(f"{path}: none of its queries is in {topics}; give the queries that the run answers.")
    candidates = run_candidates(path, read_corpus(list(corpus)), {name: texts[name] for name in names}, depth)
    for name in names:
        yield name, texts[name], candidates[name]
