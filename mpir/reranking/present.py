"""Blend scored candidates into a ranking of plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from mpir.core.blend import Blend, blend, document_order
from mpir.core.calibration import Calibration, Relevance, logistic
from mpir.core.candidates import Candidates
from mpir.core.columns import Columns
from mpir.core.results import CONTEXT, INTERCEPT, RankedDocument, RankedSentence
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
    by_probability = calibration is not None and calibration.is_of(weights)
    columns = candidates.columns
    calibrated = None
    if calibration is not None:
        in_part, unread = candidates.documents_in_part, candidates.documents_left_out
        calibrated = calibration.log_odds(columns, in_part, unread, candidates.documents_unreached)
    if calibrated is not None and by_probability:
        blended = calibrated
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            blended = blend(columns, weights)
    if not (np.isfinite(blended.documents).all() and np.isfinite(blended.sentences).all()):
        raise InputError("the weighted sums of scores overflow; lower the weights.")
    probabilities = Probabilities.of(columns, calibrated, relevance, blended)
    presenter = _Presenter(candidates, blended, weights, probabilities)
    numbers = document_order(columns, blended.documents)[:top_k].tolist()
    return Ranking(
        query=candidates.query,
        documents=tuple(map(presenter.document, numbers)),
        weights=weights,
        candidates=len(candidates.documents),
        left_out=int(candidates.documents_left_out.sum()),
        ordering=columns.layout.ordering,
        signed=columns.layout.signed,
        expected_relevant=None if calibration is None else sum(filter(None, probabilities.documents)),
        lines=calibration.lines if calibration is not None and blended is calibrated else None,
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
    def of(cls, columns: Columns, calibrated: Blend | None, relevance: Relevance, blended: Blend) -> Self:
        """Compute them from the log-odds of a calibration; without it, probabilities are None."""
        documents = None if calibrated is None else logistic(calibrated.documents)
        sentences = None if calibrated is None else logistic(calibrated.sentences)
        return cls(
            documents=[None] * len(blended.documents) if documents is None else documents.tolist(),
            sentences=[None] * len(blended.sentences) if sentences is None else sentences.tolist(),
            relevance=relevance.of_documents(columns, blended.documents, documents).tolist(),
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
        document_id = document.id if document.key is None else document.key
        known = np.flatnonzero(~np.isnan(values[number])).tolist()  # a document that was not read has no model's scores
        ranks = 1 + (values > values[number]).sum(axis=0)
        return RankedDocument(
            id=document_id,
            index=number,
            title=document.title,
            score=float(blended.documents[number]),
            probability=self.probabilities.documents[number],
            relevance=self.probabilities.relevance[number],
            scores={names[column]: float(values[number, column]) for column in known},
            ranks={names[column]: int(ranks[column]) for column in known},
            shares=self._shares(number, known, len(best)),
            best=tuple(map(rows.index, best)),
            sentences=tuple(self.sentence(row, number, document_id) for row in rows),
            in_passages=bool(self.candidates.documents_in_passages[number]),
            left_out=bool(self.candidates.documents_left_out[number]),
            in_part=bool(self.candidates.documents_in_part[number]),
            text=document.abstract,
            metadata=dict(document.metadata),
        )

    def _shares(self, number: int, known: Sequence[int], sentences: int) -> dict[str, float]:
        """Return the summands of a document's score: its columns, its best sentences, and a calibration's intercept."""
        names, values = self.candidates.columns.layout.documents, self.blended.document_shares[number].tolist()
        shares = {names[column]: values[column] for column in known}
        shares |= {f"sentence {rank}": values[len(names) + rank - 1] for rank in range(1, 1 + sentences)}
        if (intercepts := self.blended.document_intercepts) is not None:
            shares[INTERCEPT] = float(intercepts[number])
        return shares

    def sentence(self, row: int, number: int, document_id: object) -> RankedSentence:
        """Return the ranked sentence in row `row` of the columns, which belongs to document `number`."""
        sentence, columns, blended = self.candidates.sentences[row], self.candidates.columns, self.blended
        names, values = columns.layout.sentences, blended.columns.sentences[row].tolist()
        lines = blended.sentence_lines
        slope = 1.0 if lines is None else float(lines.slopes[row])
        shares = {name: slope * self.weights.alpha[name] * value for name, value in zip(names, values, strict=True)}
        shares[CONTEXT] = slope * self.weights.alpha_context * float(blended.context[number])
        if lines is not None:
            shares[INTERCEPT] = float(lines.intercepts[row])
        return RankedSentence(
            document=document_id,
            text=sentence.text,
            section=sentence.section,
            begin=sentence.begin,
            end=sentence.end,
            score=float(blended.sentences[row]),
            answer_probability=self.probabilities.sentences[row],
            relevance=self.probabilities.sentence_relevance[row],
            scores=dict(zip(names, columns.sentences[row].tolist(), strict=True)),
            shares=shares,
            in_passages=bool(self.candidates.in_passages[row]),
        )
