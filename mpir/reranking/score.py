"""Scoring: perspectives fill the columns of prepared candidates."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mpir.core.calibration import COSINE
from mpir.core.candidates import Candidates
from mpir.core.text.query import as_read
from mpir.core.text.types import QueryDocument
from mpir.core.weights import Weights
from mpir.errors import InputError, format_value
from mpir.models.perspectives import Perspective, ScoreCache
from mpir.models.perspectives.scoring import score_documents
from mpir.reranking.options import Cascade
from mpir.reranking.stages import READ_ON, Stages, best_documents, read_on, read_whole
from mpir.types import F64, Bool
from mpir.validation import COSINE_LIMIT

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """The perspectives that score candidates, and the score cache.

    `weights` choose the documents that models with exits read to the end; `cascade` says how far others are read.
    """

    perspectives: Sequence[Perspective]
    cache: ScoreCache | None
    weights: Weights
    cascade: Cascade

    def score(self, candidates: Sequence[Candidates], *, progress: bool = False) -> list[Candidates]:
        """Return the candidates of all queries with all columns; each model reads the texts of all queries together.

        Raises:
            InputError: a perspective returned a score that is not finite, or the wrong number of scores.
        """
        check_cosines(candidates, [perspective for perspective in self.perspectives if perspective.level == "document"])
        whole = [perspective for perspective in self.perspectives if perspective.documents_model is not None]
        pairs = [perspective for perspective in self.perspectives if perspective.documents_model is None]
        stages = Stages.of(whole) if any(map(self._is_staged, candidates)) else None
        scored = self._read_documents(candidates, whole, stages, progress)
        if readers := [perspective for perspective in pairs if perspective.level == "sentence"]:
            scored = self._read_sentences(scored, readers, progress)
        scored = self.score_texts(scored, progress=progress)
        return self._read_on(scored, whole, stages, progress) if stages and self.cascade == "auto" else scored

    def _read_documents(
        self,
        candidates: Sequence[Candidates],
        perspectives: Sequence[Perspective],
        stages: Stages | None,
        progress: bool,
    ) -> list[Candidates]:
        """Return the candidates with the columns of models that read all sentences of a document at once.

        With `stages`, long lists are read to the first exit, and with the cascade "first" all lists.
        """
        if not perspectives:
            return list(candidates)
        scored: dict[int, Candidates] = {}
        for stage in (None, stages) if stages else (None,):
            numbers = [
                number
                for number, query_candidates in enumerate(candidates)
                if stages is None or self._is_staged(query_candidates) == (stage is not None)
            ]
            if numbers:
                chosen = [candidates[number] for number in numbers]
                read, scores = read_whole(chosen, perspectives, stages=stage, cache=self.cache, progress=progress)
                report_passages(scores.in_passages[scores.starts], "documents")
                scored |= zip(numbers, read, strict=True)
        return [scored[number] for number in range(len(candidates))]

    def _is_staged(self, candidates: Candidates) -> bool:
        """Whether documents are read to the first exit, and not to the end at once."""
        return self.cascade == "first" or (self.cascade == "auto" and len(candidates.documents) > READ_ON)

    def _read_on(
        self, candidates: Sequence[Candidates], perspectives: Sequence[Perspective], stages: Stages, progress: bool
    ) -> list[Candidates]:
        """Return the candidates of long lists with the scores of a reading to the end for the best documents."""
        scored = list(candidates)
        numbers = [number for number, item in enumerate(scored) if item.documents_in_part.any()]
        if numbers:
            long = [scored[number] for number in numbers]
            chosen = [best_documents(item, self.weights) for item in long]
            read = read_on(long, perspectives, chosen, stages=stages, cache=self.cache, progress=progress)
            for number, query_candidates in zip(numbers, read, strict=True):
                scored[number] = query_candidates
        return scored

    def _read_sentences(
        self, candidates: Sequence[Candidates], perspectives: Sequence[Perspective], progress: bool
    ) -> list[Candidates]:
        """Return the candidates with the columns of models that read each sentence alone, as a document of its own."""
        documents = [
            QueryDocument(as_read(query_candidates.query), (sentence.text,))
            for query_candidates in candidates
            for sentence in query_candidates.sentences
        ]
        scores = score_documents(perspectives, documents, cache=self.cache, progress=progress)
        values, in_passages = scores.values[scores.starts + 1], scores.in_passages[scores.starts + 1]
        report_passages(in_passages, "sentences")
        counts = [len(query_candidates.sentences) for query_candidates in candidates]
        return [
            _with_sentence_columns(query_candidates, perspectives, values[span], in_passages[span])
            for query_candidates, span in zip(candidates, _slices(counts), strict=True)
        ]

    def score_texts(self, candidates: Sequence[Candidates], *, progress: bool = False) -> list[Candidates]:
        """Return the candidates with the columns of perspectives that read a text as a whole, such as its words."""
        scored = list(candidates)
        for perspective in self.perspectives:
            if perspective.documents_model is None and perspective.level == "document":
                scored = self._read_texts(scored, perspective, progress)
        return scored

    def _read_texts(
        self, candidates: Sequence[Candidates], perspective: Perspective, progress: bool
    ) -> list[Candidates]:
        """Return the candidates with a column of documents' texts; scores that come with the documents are kept."""
        scored = list(candidates)
        numbers = [
            number
            for number, query_candidates in enumerate(scored)
            if perspective.name not in query_candidates.columns.layout.documents
        ]
        if not numbers:
            return scored
        documents = [
            QueryDocument(as_read(scored[number].query), (), document.text)
            for number in numbers
            for document in scored[number].documents
        ]
        scores = score_documents([perspective], documents, cache=self.cache, progress=progress)
        report_passages(scores.in_passages, "documents")
        counts = [len(scored[number].documents) for number in numbers]
        for number, span in zip(numbers, _slices(counts), strict=True):
            scored[number] = replace(
                scored[number],
                columns=scored[number].columns.with_columns({perspective.column: scores.values[span, 0]}),
                documents_in_passages=scored[number].documents_in_passages | scores.in_passages[span],
            )
        return scored


def _with_sentence_columns(
    candidates: Candidates, perspectives: Sequence[Perspective], values: F64, in_passages: Bool
) -> Candidates:
    """Return the candidates with scores (N, P) of their sentences."""
    columns = {perspective.column: values[:, number] for number, perspective in enumerate(perspectives)}
    return replace(
        candidates,
        columns=candidates.columns.with_columns(columns),
        in_passages=candidates.in_passages | in_passages,
    )


def _slices(counts: Sequence[int]) -> Iterator[slice]:
    """Return consecutive slices of these lengths."""
    start = 0
    for count in counts:
        yield slice(start, start + count)
        start += count


def check_cosines(candidates: Sequence[Candidates], perspectives: Sequence[Perspective]) -> None:
    """Check scores that come with the documents in place of those of a perspective that computes cosines.

    Raises:
        InputError: a score is below -1 or above 1 by more than rounding.
    """
    for name in (perspective.name for perspective in perspectives if getattr(perspective, "scale", None) == COSINE):
        for query_candidates in (
            query_candidates for query_candidates in candidates if name in query_candidates.columns.layout.documents
        ):
            for document, score in zip(
                query_candidates.documents, query_candidates.columns.document(name).tolist(), strict=True
            ):
                if not abs(score) <= COSINE_LIMIT:
                    raise InputError(
                        f"document {format_value(document.id)} of the query {format_value(query_candidates.query)} "
                        "has the score "
                        f"{format_value(name)} {score:.6g}; expected a cosine from -1 to 1. The index or file that "
                        "it comes from may be damaged."
                    )


def report_passages(in_passages: Bool, noun: str) -> None:
    """Log how many texts were read in passages, if any were."""
    if in_passages.any():
        message = "note: %d of %d %s are longer than a model reads at once, and are scored by their best passage"
        log.warning(message, in_passages.sum(), len(in_passages), noun)
