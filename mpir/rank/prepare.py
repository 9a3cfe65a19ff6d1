"""A query's documents made ready for scoring: sentences, the first stage's columns, what a first pass leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mpir.rank.candidates import Candidates
from mpir.rank.cascade import first_pass
from mpir.rank.columns import Columns, Layout
from mpir.rank.query_truncation import as_read, report_unread
from mpir.retrieve.memory import MemoryIndex
from mpir.text import Document
from mpir.text.anaphora import antecedents
from mpir.text.background import pubmed
from mpir.text.split import Style
from mpir.text.split import sentences as split_sentences
from mpir.types import F64

BM25 = "bm25"
"""The document column of the first stage, which every question has."""


def gather(query: str, documents: Sequence[Document], cascade: float | None, style: Style) -> Candidates:
    """A query with the sentences that go on to the perspectives, and no scores yet."""
    report_unread(query)
    asked = as_read(query)
    split = [split_sentences(document, style=style) for document in documents]
    sentences = [sentence for part in split for sentence in part]
    document_of = np.repeat(np.arange(len(documents)), [len(part) for part in split])
    lexical = MemoryIndex([sentence.text for sentence in sentences]).scores(asked).astype(np.float64)
    first = _first_stage(asked, documents)
    columns = Columns(
        Layout(tuple(first), ()),
        np.column_stack(list(first.values())),
        np.zeros((len(sentences), 0)),
        np.zeros(len(documents), np.int64),
        document_of,
    )
    rows = first_pass(lexical, columns.first, document_of, cascade)
    columns = replace(columns, sentences=columns.sentences[rows], document_of=document_of[rows])
    named = antecedents(sentences, document_of)[rows]  # among all, so that the first pass does not change them
    before = {place: sentences[named[place]].text for place in np.flatnonzero(named != rows).tolist()}
    kept, left_out = [sentences[row] for row in rows], len(sentences) - len(rows)
    return Candidates.of(query, documents, kept, columns, lexical[rows], left_out=left_out, antecedents=before)


def _first_stage(query: str, documents: Sequence[Document]) -> dict[str, F64]:
    """First-stage scores (D,) by name, BM25 first: the documents' own or, where they have none, BM25 by PubMed's words.

    The candidates' own document frequencies would call the query's words common, since most candidates have them.
    """
    names = list(documents[0].scores) if documents else []
    given = {name: np.array([document.scores[name] for document in documents], np.float64) for name in names}
    if documents and not given and documents[0].score is not None:
        given[BM25] = np.array([document.score for document in documents], np.float64)
    if BM25 not in given:
        texts = [document.text for document in documents]
        given[BM25] = MemoryIndex(texts, background=pubmed()).scores(query).astype(np.float64)
    return {BM25: given.pop(BM25), **given}
