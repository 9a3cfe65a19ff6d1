"""Prepare a query's documents for scoring: split sentences, collect first-stage columns, run the first pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.candidates import Candidates
from mpir.core.columns import Columns, Layout
from mpir.core.text import Document
from mpir.core.text.query import as_matched, report_unread
from mpir.core.text.split import Splitting, antecedents
from mpir.core.text.split import sentences as split_sentences
from mpir.core.text.terms import pubmed_background
from mpir.core.text.types import Sentence
from mpir.reranking.cascade import Share, first_pass
from mpir.search.memory import MemoryIndex
from mpir.types import F64, I64

BM25 = "bm25"
"""The first stage's document column, which every query has."""


def prepare(query: str, documents: Sequence[Document], *, cascade: Share, splitting: Splitting) -> Candidates:
    """Split a query's documents and return candidates that the perspectives have not scored yet."""
    report_unread(query)
    split = [_split(document, splitting) for document in documents]
    sentences = [sentence for document_sentences in split for sentence in document_sentences]
    document_of = np.repeat(np.arange(len(documents)), [len(document_sentences) for document_sentences in split])
    lexical = MemoryIndex([sentence.text for sentence in sentences]).scores(as_matched(query)).astype(np.float64)
    first_stage = first_stage_scores(as_matched(query), documents)
    columns = Columns(
        layout=Layout.of(tuple(first_stage), ()),
        documents=np.column_stack(list(first_stage.values())),
        sentences=np.zeros((len(sentences), 0)),
        query_of=np.zeros(len(documents), np.int64),
        document_of=document_of,
    )
    numbers = _numbers(document_of)
    ties = _text_order(sentences, numbers)
    rows = first_pass(lexical, columns.first_stage, document_of, cascade, ties=ties)
    columns = replace(columns, sentences=columns.sentences[rows], document_of=document_of[rows])
    antecedent_of = antecedents(sentences, document_of)[rows]  # before the first pass, so that it cannot change them
    with_antecedent = np.flatnonzero(antecedent_of != rows).tolist()
    return unscored_candidates(
        query,
        documents,
        sentences=[sentences[row] for row in rows],
        columns=columns,
        lexical=lexical[rows],
        left_out=len(sentences) - len(rows),
        antecedents={row: sentences[antecedent_of[row]].text for row in with_antecedent},
        document_sentences=[tuple(sentence.text for sentence in document_sentences) for document_sentences in split],
        sentence_numbers=numbers[rows],
    )


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
        documents_left_out=np.zeros(len(documents), bool),
        documents_in_part=np.zeros(len(documents), bool),
        **fields,
    )


def _numbers(document_of: I64) -> I64:
    """The number (N,) of each sentence in its document."""
    numbers: I64 = np.arange(len(document_of)) - np.searchsorted(document_of, document_of)
    return numbers


def _text_order(sentences: Sequence[Sentence], numbers: I64) -> I64:
    """The rank (N,) of each sentence by its number in its document and then its text, in any order of documents."""
    order = sorted(range(len(sentences)), key=lambda row: (numbers[row], sentences[row].text))
    ranks: I64 = np.argsort(order)
    return ranks


def _split(document: Document, splitting: Splitting) -> list[Sentence]:
    raise_if_cancelled()
    return split_sentences(document, splitting=splitting)


def first_stage_scores(query: str, documents: Sequence[Document]) -> dict[str, F64]:
    """Return first-stage scores (D,) by name, BM25 first.

    Documents without scores get BM25 with PubMed's document frequencies. With the candidates' own frequencies the
    query's words would count as common, since most candidates contain them.
    """
    names = list(documents[0].scores) if documents else []
    scores = {name: np.array([document.scores[name] for document in documents], np.float64) for name in names}
    if documents and not scores and documents[0].score is not None:
        scores[BM25] = np.array([document.score for document in documents], np.float64)
    if BM25 not in scores:
        texts = [document.text for document in documents]
        scores[BM25] = MemoryIndex(texts, background=pubmed_background()).scores(query).astype(np.float64)
    return {BM25: scores.pop(BM25), **scores}
