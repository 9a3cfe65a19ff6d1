"""Stages of reading: a model with exits reads documents to its first exit, and only the best of them to the end.

Of a long list, words alone decide what is read at all (reranking/prepare.py). The documents that go on are the best of
the whole blend at the exit. The others keep the exit's scores, and say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mpir.core.blend import blend, document_order
from mpir.core.candidates import Candidates
from mpir.core.text.query import as_read
from mpir.core.text.types import QueryDocument
from mpir.core.weights import Weights
from mpir.models.perspectives import Perspective, ScoreCache
from mpir.models.perspectives.base import DocumentModel
from mpir.models.perspectives.scoring import DocumentScores, score_documents
from mpir.types import I64

EMPTY = ("",)
"""The sentences of a document without any: it is read as a document of one empty sentence."""
READ, FIRST_STAGE, READ_ON = 60, 20, 16
"""Documents of a query that are read to the first exit: the best by words, and the best of the first stage, which may
have searched for more than words; and the documents that are read to the end, as are all of a list of so many
(docs/evidence/stages.md)."""


@dataclass(frozen=True, slots=True)
class Stages:
    """Models that read to the first exit, and models that go on from there, by the id of a perspective's model."""

    first: Mapping[int, DocumentModel]
    deeper: Mapping[int, DocumentModel]

    @classmethod
    def of(cls, perspectives: Sequence[Perspective]) -> Stages | None:
        """Return the stages of perspectives' models, or None if none of them has an exit to stop at."""
        models = {id(model): model for p in perspectives if (model := p.documents_model) is not None}
        pairs = {
            number: model.at_first_exit()  # type: ignore[attr-defined]
            for number, model in models.items()
            if getattr(model, "first_exit", None) is not None
        }
        if not pairs:
            return None
        return cls(*({number: pair[stage] for number, pair in pairs.items()} for stage in (0, 1)))


def read_whole(
    candidates: Sequence[Candidates],
    perspectives: Sequence[Perspective],
    *,
    stages: Stages | None,
    cache: ScoreCache | None,
    progress: bool,
) -> tuple[list[Candidates], DocumentScores]:
    """Return the candidates with the columns of models of documents, and the scores.

    With `stages`, documents are read to the first exit.
    """
    rows_read = [np.flatnonzero(~query_candidates.documents_left_out) for query_candidates in candidates]
    documents = to_read(candidates, rows_read)
    models = None if stages is None else stages.first
    scores = score_documents(perspectives, documents, models=models, cache=cache, progress=progress)
    ends = np.cumsum([len(rows) for rows in rows_read])
    return [
        with_columns(query_candidates, perspectives, replace(scores, starts=starts), rows, in_part=stages is not None)
        for query_candidates, rows, starts in zip(
            candidates, rows_read, np.split(scores.starts, ends[:-1]), strict=True
        )
    ], scores


def to_read(candidates: Sequence[Candidates], rows_read: Sequence[I64]) -> list[QueryDocument]:
    """Return the documents in these rows of each query, as models read them."""
    return [
        QueryDocument(as_read(query_candidates.query), query_candidates.document_sentences[row] or EMPTY)
        for query_candidates, rows in zip(candidates, rows_read, strict=True)
        for row in rows
    ]


def with_columns(
    candidates: Candidates, perspectives: Sequence[Perspective], scores: DocumentScores, rows: I64, *, in_part: bool
) -> Candidates:
    """Return the candidates with the scores of the documents in `rows`, in this order, and of their sentences."""
    starts, count, start_of = scores.starts, len(candidates.documents), np.full(len(candidates.documents), -1)
    start_of[rows] = starts
    sentence_rows = start_of[candidates.columns.document_of] + 1 + candidates.sentence_numbers
    values = {}
    for number, perspective in enumerate(perspectives):
        if perspective.level == "sentence":
            values[perspective.column] = scores.values[sentence_rows, number]
        elif perspective.name not in candidates.columns.layout.documents:
            values[perspective.column] = np.full(count, np.nan)
            values[perspective.column][rows] = scores.values[starts, number]
    in_passages, in_first = candidates.documents_in_passages.copy(), np.zeros(count, bool)
    in_passages[rows] |= scores.in_passages[starts]
    in_first[rows] = in_part
    return replace(
        candidates,
        columns=candidates.columns.with_columns(values),
        in_passages=candidates.in_passages | scores.in_passages[sentence_rows],
        documents_in_passages=in_passages,
        documents_in_part=in_first,
    )


def by_blend(candidates: Candidates, weights: Weights) -> I64:
    """Return the rows of the documents that were read, best first by their blend."""
    order = document_order(candidates.columns, blend(candidates.columns, weights).documents)
    return order[~candidates.documents_left_out[order]]


def best_documents(candidates: Candidates, weights: Weights) -> I64:
    """Return the rows (ascending) of the `READ_ON` best documents of those that were read."""
    return np.sort(by_blend(candidates, weights)[:READ_ON])


def read_on(
    candidates: Sequence[Candidates],
    perspectives: Sequence[Perspective],
    chosen: Sequence[I64],
    *,
    stages: Stages,
    cache: ScoreCache | None,
    progress: bool,
) -> list[Candidates]:
    """Return the candidates with the scores of a reading to the end for the chosen documents (rows) of each query."""
    documents = to_read(candidates, chosen)
    scores = score_documents(perspectives, documents, models=stages.deeper, cache=cache, progress=progress)
    ends = np.cumsum([len(rows) for rows in chosen])
    return [
        _with_deeper(query_candidates, perspectives, scores, rows, starts)
        for query_candidates, rows, starts in zip(candidates, chosen, np.split(scores.starts, ends[:-1]), strict=True)
    ]


def _with_deeper(
    candidates: Candidates, perspectives: Sequence[Perspective], scores: DocumentScores, rows: I64, starts: I64
) -> Candidates:
    """Return the candidates with other scores of the documents in `rows`, which begin at `starts`, and sentences."""
    columns, start_of = candidates.columns, np.full(len(candidates.documents), -1)
    start_of[rows] = starts
    sentences = np.flatnonzero(start_of[columns.document_of] >= 0)
    sentence_rows = start_of[columns.document_of[sentences]] + 1 + candidates.sentence_numbers[sentences]
    values = {
        perspective.name: scores.values[sentence_rows if perspective.level == "sentence" else starts, number]
        for number, perspective in enumerate(perspectives)
    }
    in_part = candidates.documents_in_part.copy()
    in_part[rows] = False
    return replace(candidates, columns=columns.replaced(values, rows, sentences), documents_in_part=in_part)
