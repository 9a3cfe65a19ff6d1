"""Blend scored candidates into a ranking of plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from mpir.core.blend import Blend, as_sentence_list, blend, document_order, lists_of
from mpir.core.calibration import Calibration, Relevance
from mpir.core.candidates import Candidates
from mpir.core.results import CONTEXT, RankedDocument, RankedSentence
from mpir.core.weights import Weights
from mpir.errors import InputError
from mpir.reranking.ranking import Ranking


def rank(
    candidates: Candidates,
    weights: Weights,
    *,
    top_k: int | None = None,
    calibration: Calibration | None = None,
    relevance: Relevance = Relevance(),  # noqa: B008 (frozen)
) -> Ranking:
    """Blend a query's scored candidates into a ranking of the `top_k` best documents (all of them by default).

    `calibration` computes the probabilities from the raw columns; None gives a ranking without probabilities.
    `relevance` says how the number for other programs is computed.

    Raises:
        InputError: the weights belong to other columns, or are so large that the scores overflow.
    """
    weights.check_columns(candidates.columns.layout)
    is_list = bool(lists_of(candidates.columns, weights).any())
    columns, blend_weights = candidates.columns, weights
    if is_list:
        columns, blend_weights = as_sentence_list(columns, weights)
    with np.errstate(over="ignore", invalid="ignore"):
        blended = blend(columns, blend_weights)
    if not (np.isfinite(blended.documents).all() and np.isfinite(blended.sentences).all()):
        raise InputError("the weighted sums of scores overflow; lower the weights.")
    probabilities = Probabilities.of(candidates, calibration, relevance, blended)
    presenter = _Presenter(candidates, blended, blend_weights, probabilities)
    numbers = document_order(columns, blended.documents)[:top_k].tolist()
    return Ranking(
        query=candidates.query,
        documents=tuple(map(presenter.document, numbers)),
        weights=weights,
        candidates=len(candidates.documents),
        left_out=candidates.left_out,
        ordering=columns.layout.ordering,
        signed=columns.layout.signed,
        sentence_list=is_list,
        expected_relevant=None if calibration is None else sum(filter(None, probabilities.documents)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Probabilities:
    """The probabilities of a query's documents (D) to be relevant, and of its sentences (N) to answer; see `Relevance`
    for the other two."""

    documents: Sequence[float | None]
    sentences: Sequence[float | None]
    relevance: Sequence[float]
    sentence_relevance: Sequence[float]

    @classmethod
    def of(cls, candidates: Candidates, calibration: Calibration | None, relevance: Relevance, blended: Blend) -> Self:
        """Compute them from the raw columns of the candidates; probabilities are None without a calibration."""
        columns, left_out = candidates.columns, candidates.documents_left_out
        documents = None if calibration is None else calibration.documents(columns, left_out)
        sentences = None if calibration is None else calibration.sentences(columns)
        return cls(
            documents=[None] * len(candidates.documents) if documents is None else documents.tolist(),
            sentences=[None] * len(candidates.sentences) if sentences is None else sentences.tolist(),
            relevance=relevance.of_documents(columns, blended.documents, documents, left_out).tolist(),
            sentence_relevance=relevance.of_sentences(columns, blended.sentences, sentences).tolist(),
        )


class _Presenter:
    """Converter of blended candidates to plain values, one document at a time."""

    def __init__(self, candidates: Candidates, blended: Blend, weights: Weights, probabilities: Probabilities) -> None:
        self.candidates, self.blended, self.weights, self.probabilities = candidates, blended, weights, probabilities
        counts = range(len(candidates.documents) + 1)
        self.first = candidates.columns.document_of.searchsorted(counts).tolist()

    def document(self, number: int) -> RankedDocument:
        """Return a document with its sentences, best first."""
        document, columns, blended = self.candidates.documents[number], self.candidates.columns, self.blended
        names, values = columns.layout.documents, columns.documents
        members = range(self.first[number], self.first[number + 1])
        rows = sorted(members, key=lambda row: (-blended.sentences[row], row))
        best = [int(row) for row in blended.best[number] if row >= 0]
        summands = (*names, *(f"sentence {rank}" for rank in range(1, 1 + len(best))))
        ranks = 1 + (values > values[number]).sum(axis=0)
        document_id = document.id if document.key is None else document.key
        score = float(blended.documents[number])
        return RankedDocument(
            id=document_id,
            index=number,
            title=document.title,
            score=score,
            probability=self.probabilities.documents[number],
            relevance=self.probabilities.relevance[number],
            scores=dict(zip(names, values[number].tolist(), strict=True)),
            ranks=dict(zip(names, ranks.tolist(), strict=True)),
            shares=dict(zip(summands, blended.document_shares[number, : len(summands)].tolist(), strict=True)),
            best=tuple(map(rows.index, best)),
            sentences=tuple(self.sentence(row, number, document_id) for row in rows),
            in_passages=bool(self.candidates.documents_in_passages[number]),
            left_out=bool(self.candidates.documents_left_out[number]),
            in_part=bool(self.candidates.documents_in_part[number]),
            text=document.abstract,
            metadata=dict(document.metadata),
        )

    def sentence(self, row: int, number: int, document_id: object) -> RankedSentence:
        """Return the ranked sentence in row `row` of the columns, which belongs to document `number`."""
        sentence, columns, blended = self.candidates.sentences[row], self.candidates.columns, self.blended
        names, values = columns.layout.sentences, blended.columns.sentences[row].tolist()
        shares = {name: self.weights.alpha[name] * value for name, value in zip(names, values, strict=True)}
        score = float(blended.sentences[row])
        shares[CONTEXT] = self.weights.alpha_context * float(blended.context[number])
        return RankedSentence(
            document=document_id,
            text=sentence.text,
            section=sentence.section,
            begin=sentence.begin,
            end=sentence.end,
            score=score,
            answer_probability=self.probabilities.sentences[row],
            relevance=self.probabilities.sentence_relevance[row],
            scores=dict(zip(names, columns.sentences[row].tolist(), strict=True)),
            shares=shares,
            in_passages=bool(self.candidates.in_passages[row]),
        )
