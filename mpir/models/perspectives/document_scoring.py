"""Score the sentences of documents that a model reads as a whole, with the same table and cache as pairs.

In the table, the text of a sentence is the whole document and the sentence's number, so that a score is kept by
question, model and document. `Reranker.score_pairs` has no documents: there, each text is a document of one sentence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mpir.core.text.types import Pair, QueryDocument
from mpir.models.perspectives.base import DocumentModel, Perspective
from mpir.models.perspectives.cache import ScoreCache
from mpir.models.perspectives.scoring import PairScores, score_pairs
from mpir.types import F32, F64, Bool


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
