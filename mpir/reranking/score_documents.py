"""Score candidates by models that read whole documents: columns of their sentences, and of the documents.

The table and the cache are those of pairs: there, the text of a sentence is the whole document and the sentence's
number, so that a score is kept by question, model and document. `Reranker.score_pairs` has no documents: there, each
text is a document of one sentence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mpir.core.candidates import Candidates
from mpir.core.text.query import as_read
from mpir.core.text.types import Pair, QueryDocument
from mpir.models.perspectives.base import DocumentModel, Perspective
from mpir.models.perspectives.cache import ScoreCache
from mpir.models.perspectives.scoring import PairScores, score_pairs
from mpir.types import F32, F64, I64, Bool

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
    documents = [
        QueryDocument(as_read(query_candidates.query), sentences or EMPTY)
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


def score_documents(
    perspectives: Sequence[Perspective],
    documents: Sequence[QueryDocument],
    *,
    cache: ScoreCache | None = None,
    progress: bool = False,
) -> PairScores:
    """Score all S sentences of documents, one document after the other, by perspectives with a `documents_model`.

    Of a perspective with the level ``document``, each sentence has the score of its document. A model reads each
    document once for all its perspectives. `in_passages` marks documents that were read in several windows.

    Raises:
        InputError: a perspective returned a NaN or infinite score.
    """
    models = {id(model): _SentenceModel(model) for model in map(_model_of, perspectives)}
    adapters = [_SentenceAdapter(perspective, models[id(_model_of(perspective))]) for perspective in perspectives]
    pairs = [pair for document in documents for pair in _sentence_pairs(document)]
    return score_pairs(adapters, pairs, cache=cache, progress=progress)


def _model_of(perspective: Perspective) -> DocumentModel:
    model = perspective.documents_model
    assert model is not None
    return model


def _sentence_pairs(document: QueryDocument) -> list[Pair]:
    """A pair for each sentence: the query, and the document's text as JSON with the sentence's number."""
    text = json.dumps(document.sentences, ensure_ascii=False)
    return [(document.query, f"{text} {number}") for number in range(len(document.sentences))]


class _SentenceModel:
    """A model of documents in the form in which scoring uses models: outputs (N, …) of N pairs."""

    def __init__(self, model: DocumentModel) -> None:
        self.model = model

    def outputs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[F32, Bool]:
        """Return the outputs and flags of sentences, whose documents are read once."""
        parsed = [(query, *text.rsplit(" ", 1)) for query, text in pairs]
        texts = dict.fromkeys((query, text) for query, text, _ in parsed)
        documents = [QueryDocument(query, tuple(json.loads(text))) for query, text in texts]
        counts = [len(document.sentences) for document in documents]
        start_of = dict(zip(texts, np.cumsum([0, *counts]).tolist(), strict=False))
        values, in_windows = self.model.document_outputs(documents, progress=progress)
        rows = [start_of[query, text] + int(number) for query, text, number in parsed]
        return values[rows], in_windows[rows]


class _SentenceAdapter(Perspective):
    """Adapter of a perspective with a model of documents, whose `shared` model reads sentences in their documents."""

    def __init__(self, perspective: Perspective, model: _SentenceModel) -> None:
        self.perspective, self.name, self.model = perspective, perspective.name, model
        self.pairs_per_save = perspective.pairs_per_save

    @property
    def identity(self) -> Mapping[str, Any]:
        """The perspective's, marked as a score of a sentence within its document."""
        return {**self.perspective.identity, "within": "document"}

    @property
    def has_identity(self) -> bool:
        """Whether the perspective's class declares what its scores depend on."""
        return self.perspective.has_identity

    @property
    def shared(self) -> _SentenceModel:
        """The model."""
        return self.model

    def read(self, outputs: F32) -> F64:
        """Return the perspective's scores (N,) from outputs of N sentences."""
        return self.perspective.read(outputs)
