"""Scoring: perspectives fill the columns of prepared candidates, and derived columns are computed from these."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mpir.core.candidates import Candidates
from mpir.core.text.query import as_read
from mpir.core.text.types import Pair
from mpir.core.weights import Weights
from mpir.errors import InputError, format_value
from mpir.models.perspectives import Perspective, ScoreCache, score_pairs
from mpir.models.perspectives.agreement import Agreement
from mpir.models.perspectives.base import COSINE
from mpir.models.perspectives.scoring import PairScores
from mpir.reranking.cascade import documents_to_read, with_lowest
from mpir.reranking.score_documents import read_documents
from mpir.types import F64, I64, Bool
from mpir.validation import COSINE_LIMIT

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Scorer:
    """The perspectives that score candidates, the columns derived from their scores, and the score cache."""

    perspectives: Sequence[Perspective]
    derived: Sequence[Agreement]
    cache: ScoreCache | None
    first_pass: Weights | None = None
    """Weights that select the best documents, for which alone slow columns are computed (reranking/cascade.py)."""

    def score(self, candidates: Sequence[Candidates], *, progress: bool = False) -> list[Candidates]:
        """Return the candidates of all queries with all columns; each model scores the pairs of all queries together.

        Raises:
            InputError: a perspective returned a score that is not finite, or the wrong number of scores.
        """
        check_cosines(candidates, [perspective for perspective in self.perspectives if perspective.level == "document"])
        whole = [perspective for perspective in self.perspectives if perspective.documents_model is not None]
        separate = [perspective for perspective in self.perspectives if perspective.documents_model is None]
        scored = list(candidates)
        if whole and candidates:
            scored = read_documents(candidates, whole, cache=self.cache, progress=progress)
            report_passages(np.concatenate([scores.documents_in_passages for scores in scored]), "documents")
        readers = [perspective for perspective in separate if perspective.level == "sentence"]
        scored = self._score_sentences(scored, readers, progress)
        scored = [self._derive(query_candidates) for query_candidates in scored]
        for perspective in separate:
            if perspective.level == "document":
                scored = self._score_documents(scored, perspective, progress)
        return scored

    def _score_sentences(
        self, candidates: Sequence[Candidates], perspectives: Sequence[Perspective], progress: bool
    ) -> list[Candidates]:
        queries = [as_read(query_candidates.query) for query_candidates in candidates]
        pairs = [
            (query, sentence.text)
            for query, query_candidates in zip(queries, candidates, strict=True)
            for sentence in query_candidates.sentences
        ]
        rows, separate, together = _antecedent_pairs(candidates)
        scores = score_pairs(perspectives, [*pairs, *separate, *together], cache=self.cache, progress=progress)
        values, in_passages = scores.values[: len(pairs)], scores.in_passages[: len(pairs)]
        signed = [perspective.signed for perspective in perspectives]
        values[rows] += antecedent_gain(values[rows], *np.split(scores.values[len(pairs) :], 2), signed=signed)
        report_passages(in_passages, "sentences")
        return [
            replace(
                query_candidates,
                columns=query_candidates.columns.with_columns(
                    {
                        perspective.column: values[rows_of_query, number]
                        for number, perspective in enumerate(perspectives)
                    }
                ),
                in_passages=query_candidates.in_passages | in_passages[rows_of_query],
            )
            for query_candidates, rows_of_query in zip(
                candidates, _slices([len(query_candidates.sentences) for query_candidates in candidates]), strict=True
            )
        ]

    def _derive(self, candidates: Candidates) -> Candidates:
        """Return the candidates with the derived columns."""
        columns, texts = candidates.columns, [sentence.text for sentence in candidates.sentences]
        for derived in self.derived:
            source = columns.sentence(derived.rests_on)
            values = derived.derive(texts, columns.document_of, columns.first_stage, source)
            columns = columns.with_columns({derived.column: values})
        return replace(candidates, columns=columns)

    def _score_documents(
        self, candidates: Sequence[Candidates], perspective: Perspective, progress: bool
    ) -> list[Candidates]:
        """Return the candidates with a document column; scores that the documents bring from an index are kept."""
        scored = list(candidates)
        numbers = [
            number
            for number, query_candidates in enumerate(scored)
            if perspective.name not in query_candidates.columns.layout.documents
        ]
        first_pass = self.first_pass if perspective.reads_best_only else None
        chosen = [documents_to_read(scored[number].columns, first_pass) for number in numbers]
        pairs = [
            (as_read(scored[number].query), scored[number].documents[row].text)
            for number, rows in zip(numbers, chosen, strict=True)
            for row in rows
        ]
        scores: PairScores = score_pairs([perspective], pairs, cache=self.cache, progress=progress)
        report_passages(scores.in_passages, "documents")
        for number, rows, span in zip(numbers, chosen, _slices([len(rows) for rows in chosen]), strict=True):
            scored[number] = _with_column(
                scored[number], perspective, rows, scores.values[span, 0], scores.in_passages[span]
            )
        return scored


def _with_column(
    candidates: Candidates, perspective: Perspective, rows: I64, values: F64, in_passages: Bool
) -> Candidates:
    """Return the candidates with one more document column, computed for some of the documents."""
    count = len(candidates.documents)
    is_read, is_long = np.zeros(count, bool), candidates.documents_in_passages.copy()
    is_read[rows], is_long[rows] = True, is_long[rows] | in_passages
    return replace(
        candidates,
        columns=candidates.columns.with_columns({perspective.column: with_lowest(values, rows, count)}),
        documents_in_passages=is_long,
        documents_left_out=candidates.documents_left_out | ~is_read,
    )


def antecedent_gain(separate: F64, antecedent: F64, together: F64, *, signed: Sequence[bool]) -> F64:
    """Return the gain (A, P), at least 0, of each sentence from the sentence that names its subject.

    The gain is the score of both as one text minus the better of their separate scores. "It is caused by mutations of
    CFTR." gains from a preceding "Cystic fibrosis", and nothing from a sentence with the same content. Signed columns
    gain nothing.
    """
    gain = together - np.maximum(separate, antecedent)
    return np.where(signed, 0, gain).clip(0)


def _antecedent_pairs(candidates: Sequence[Candidates]) -> tuple[I64, list[Pair], list[Pair]]:
    """Return the rows (A,) of sentences with an antecedent, the antecedents' pairs, and pairs of both as one text."""
    rows, separate, together, start = [], [], [], 0
    for query_candidates in candidates:
        query = as_read(query_candidates.query)
        for row, text in query_candidates.antecedents.items():
            rows.append(start + row)
            separate.append((query, text))
            together.append((query, f"{text} {query_candidates.sentences[row].text}"))
        start += len(query_candidates.sentences)
    return np.array(rows, np.int64), separate, together


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
