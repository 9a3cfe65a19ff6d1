"""Prepare a query's documents for scoring: collect first-stage columns, choose what to read, and split it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.candidates import Candidates
from mpir.core.columns import Columns, Layout
from mpir.core.text import Document
from mpir.core.text.query import as_matched, as_read, report_unread
from mpir.core.text.split import Splitting
from mpir.core.text.split import sentences as split_sentences
from mpir.core.text.terms import pubmed_background
from mpir.core.text.types import Sentence
from mpir.search.memory import MemoryIndex, background_scores
from mpir.types import F64, I64

BM25 = "bm25"
"""The first stage's document column, which every query has."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How many of a query's documents are read: the `words` best by words, and the `first_stage` best before."""

    words: int
    first_stage: int


def prepare(
    query: str,
    documents: Sequence[Document],
    *,
    splitting: Splitting,
    words: str | None = None,
    limit: Limit | None = None,
    has_lexical: bool = True,
) -> Candidates:
    """Split a query's documents and return candidates that the perspectives have not scored yet.

    `words` names the column of words (models/perspectives/bm25.py), if there is one: it is computed here, since it also
    says what to read. Documents beyond the limit, which needs it, are not split, and left out of the reading. Without
    `has_lexical`, candidates have no baseline of snippets.
    """
    report_unread(query)
    first_stage = first_stage_scores(query, documents, words=words)
    left_out = np.zeros(len(documents), bool)
    if limit is not None and words is not None and len(documents) > limit.words:
        by_words, before = _ranks(first_stage[words]), _ranks(first_stage[BM25])
        left_out = (by_words >= limit.words) & (before >= limit.first_stage)
    split: list[list[Sentence]] = []
    for document, is_left_out in zip(documents, left_out.tolist(), strict=True):
        raise_if_cancelled()
        split.append([] if is_left_out else split_sentences(document, splitting=splitting))
    sentences = [sentence for document_sentences in split for sentence in document_sentences]
    document_of = np.repeat(np.arange(len(documents)), [len(document_sentences) for document_sentences in split])
    columns = Columns(
        layout=Layout.of(tuple(first_stage), ()),
        documents=np.column_stack(list(first_stage.values())),
        sentences=np.zeros((len(sentences), 0)),
        query_of=np.zeros(len(documents), np.int64),
        document_of=document_of,
    )
    lexical = np.zeros(0)
    if has_lexical:
        lexical = MemoryIndex([sentence.text for sentence in sentences]).scores(as_matched(query)).astype(np.float64)
    return unscored_candidates(
        query,
        documents,
        sentences=sentences,
        columns=columns,
        lexical=lexical,
        documents_left_out=left_out,
        document_sentences=[tuple(sentence.text for sentence in document_sentences) for document_sentences in split],
        sentence_numbers=np.arange(len(document_of)) - np.searchsorted(document_of, document_of),
    )


def _ranks(scores: F64) -> I64:
    """Return the rank (D,) of each document, 0 for the best; the earlier of equal ones comes first."""
    ranks = np.empty(len(scores), np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    return ranks


def unscored_candidates(
    query: str, documents: Sequence[Document], *, sentences: Sequence[Sentence], **fields: Any
) -> Candidates:
    """Return candidates that no model has scored yet; `fields` has `columns`, `lexical` and optional fields."""
    return Candidates(
        query=query,
        documents=tuple(documents),
        sentences=tuple(sentences),
        in_passages=np.zeros(len(sentences), bool),
        documents_in_passages=np.zeros(len(documents), bool),
        documents_in_part=np.zeros(len(documents), bool),
        **{"documents_left_out": np.zeros(len(documents), bool), **fields},
    )


def first_stage_scores(query: str, documents: Sequence[Document], *, words: str | None = None) -> dict[str, F64]:
    """Return first-stage scores (D,) by name, BM25 first, and those of `words`, if asked for.

    Documents without scores get BM25 with PubMed's document frequencies. With the candidates' own frequencies the
    query's words would count as common, since most candidates contain them.
    """
    names = list(documents[0].scores) if documents else []
    scores = {name: np.array([document.scores[name] for document in documents], np.float64) for name in names}
    if documents and not scores and documents[0].score is not None:
        scores[BM25] = np.array([document.score for document in documents], np.float64)
    texts = [document.text for document in documents]
    if words is not None and words not in scores:
        scores[words] = background_scores(as_read(query), texts, pubmed_background())
    if BM25 not in scores and words is not None and as_matched(query) == as_read(query):
        scores[BM25] = scores[words]  # without truncated words, which only an index knows
    elif BM25 not in scores:
        scores[BM25] = MemoryIndex(texts, background=pubmed_background()).scores(as_matched(query)).astype(np.float64)
    return {BM25: scores.pop(BM25), **scores}
