"""Score candidates by models that read whole documents: columns of their sentences, and of the documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mpir.core.candidates import Candidates
from mpir.core.text.types import QueryDocument
from mpir.models.perspectives import Perspective, ScoreCache
from mpir.models.perspectives.document_scoring import score_documents
from mpir.models.perspectives.scoring import PairScores
from mpir.types import I64

EMPTY = ("",)
"""The sentences of a document without any: it is read as a document of one empty sentence."""


def read_documents(
    candidates: Sequence[Candidates],
    perspectives: Sequence[Perspective],
    *,
    cache: ScoreCache | None,
    progress: bool = False,
) -> list[Candidates]:
    """Return the candidates with the columns of perspectives that have a `documents_model`.

    Documents are read as a whole, including sentences that a first pass left out for the other perspectives.
    """
    if not perspectives or not candidates:
        return list(candidates)
    documents = [
        QueryDocument(query_candidates.query_as_read, sentences or EMPTY)
        for query_candidates in candidates
        for sentences in query_candidates.document_sentences
    ]
    scores = score_documents(perspectives, documents, cache=cache, progress=progress)
    starts = np.cumsum([0, *(len(document.sentences) for document in documents)])
    starts_of_each = np.split(starts[:-1], np.cumsum([len(scored.documents) for scored in candidates])[:-1])
    return [
        _with_columns(query_candidates, perspectives, query_starts, scores)
        for query_candidates, query_starts in zip(candidates, starts_of_each, strict=True)
    ]


def _with_columns(
    candidates: Candidates, perspectives: Sequence[Perspective], starts: I64, scores: PairScores
) -> Candidates:
    """Return the candidates with their columns; the sentences of document i begin at score `starts[i]`."""
    document_of, in_windows = candidates.columns.document_of, scores.in_passages[starts]
    sentence_rows = starts[document_of] + candidates.sentence_numbers
    columns = {}
    for number, perspective in enumerate(perspectives):
        if perspective.level == "sentence":
            columns[perspective.column] = scores.values[sentence_rows, number]
        elif perspective.name not in candidates.columns.layout.documents:
            columns[perspective.column] = scores.values[starts, number]
    is_single = np.array([len(sentences) == 1 for sentences in candidates.document_sentences], bool)
    return replace(
        candidates,
        columns=candidates.columns.with_columns(columns),
        in_passages=candidates.in_passages | (in_windows & is_single)[document_of],
        documents_in_passages=candidates.documents_in_passages | in_windows,
    )
