"""Scoring: perspectives fill the columns of prepared candidates, and derived columns are computed from these."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mpir.core.calibration import COSINE
from mpir.core.candidates import Candidates
from mpir.core.text.query import as_read
from mpir.core.text.types import Pair, QueryDocument
from mpir.core.weights import Weights
from mpir.errors import InputError, format_value
from mpir.models.perspectives import Perspective, ScoreCache
from mpir.models.perspectives.agreement import Agreement
from mpir.models.perspectives.scoring import score_documents
from mpir.reranking.cascade import documents_to_read, with_lowest
from mpir.reranking.stages import READ_ON, Stages, read_on, read_whole
from mpir.types import F64, I64, Bool
from mpir.validation import COSINE_LIMIT

log = logging.getLogger(__name__)
EVERY = slice(None)


@dataclass(frozen=True, slots=True)
class Scorer:
    """The perspectives that score candidates, the columns derived from their scores, and the score cache."""

    perspectives: Sequence[Perspective]
    derived: Sequence[Agreement]
    cache: ScoreCache | None
    first_pass: Weights | None = None
    """Weights that select the best documents, for which alone slow columns are computed (reranking/cascade.py)."""

    def score(self, candidates: Sequence[Candidates], *, progress: bool = False) -> list[Candidates]:
        """Return the candidates of all queries with all columns; each model reads the texts of all queries together.

        Raises:
            InputError: a perspective returned a score that is not finite, or the wrong number of scores.
        """
        check_cosines(candidates, [perspective for perspective in self.perspectives if perspective.level == "document"])
        whole = [perspective for perspective in self.perspectives if perspective.documents_model is not None]
        pairs = [perspective for perspective in self.perspectives if perspective.documents_model is None]
        stages = Stages.of(whole) if whole and self.first_pass is not None else None
        scored = self._read_documents(candidates, whole, stages, progress)
        scored = self._read_sentences(scored, [reader for reader in pairs if reader.level == "sentence"], progress)
        scored = [self._derive(query_candidates) for query_candidates in scored]
        for perspective in pairs:
            if perspective.level == "document":
                scored = self._read_texts(scored, perspective, progress)
        return scored if stages is None else self._read_on(scored, whole, stages, progress)

    def _read_documents(
        self,
        candidates: Sequence[Candidates],
        perspectives: Sequence[Perspective],
        stages: Stages | None,
        progress: bool,
    ) -> list[Candidates]:
        """Return the candidates with the columns of models that read all sentences of a document at once.

        With `stages`, long lists are read to the first exit.
        """
        if not perspectives:
            return list(candidates)
        scored: dict[int, Candidates] = {}
        for stage in (None, stages) if stages else (None,):
            numbers = [
                number
                for number, query_candidates in enumerate(candidates)
                if stages is None or (len(query_candidates.documents) > READ_ON) == (stage is not None)
            ]
            if numbers:
                chosen = [candidates[number] for number in numbers]
                read, scores = read_whole(chosen, perspectives, stages=stage, cache=self.cache, progress=progress)
                report_passages(scores.in_passages[scores.starts], "documents")
                scored |= zip(numbers, read, strict=True)
        return [scored[number] for number in range(len(candidates))]

    def _read_on(
        self, candidates: Sequence[Candidates], perspectives: Sequence[Perspective], stages: Stages, progress: bool
    ) -> list[Candidates]:
        """Return the candidates of long lists with the scores of a reading to the end for the best documents."""
        scored = list(candidates)
        numbers = [number for number, item in enumerate(scored) if item.documents_in_part.any()]
        if numbers:
            long = [scored[number] for number in numbers]
            chosen = [documents_to_read(item.columns, self.first_pass, READ_ON, READ_ON) for item in long]
            read = read_on(long, perspectives, chosen, stages=stages, cache=self.cache, progress=progress)
            for number, query_candidates in zip(numbers, read, strict=True):
                scored[number] = self._derive(query_candidates)
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
        rows, separate, together = _antecedent_pairs(candidates)
        documents += map(QueryDocument.of_pair, (*separate, *together))
        scores = score_documents(perspectives, documents, cache=self.cache, progress=progress)
        sentence_rows = scores.starts + 1
        values = scores.values[sentence_rows]
        count = len(values) - 2 * len(rows)
        signed = [perspective.signed for perspective in perspectives]
        scores.values[sentence_rows[rows]] += antecedent_gain(values[rows], *np.split(values[count:], 2), signed=signed)
        report_passages(scores.in_passages[sentence_rows[:count]], "sentences")
        counts = [len(query_candidates.sentences) for query_candidates in candidates]
        values, in_passages = scores.values[sentence_rows], scores.in_passages[sentence_rows]
        return [
            _with_sentence_columns(query_candidates, perspectives, values[span], in_passages[span])
            for query_candidates, span in zip(candidates, _slices(counts), strict=True)
        ]

    def _derive(self, candidates: Candidates) -> Candidates:
        """Return the candidates with the derived columns."""
        columns, texts = candidates.columns, [sentence.text for sentence in candidates.sentences]
        for derived in self.derived:
            source = columns.sentence(derived.rests_on)
            values = derived.derive(texts, columns.document_of, columns.first_stage, source)
            if derived.name in columns.layout.sentences:
                columns = columns.replaced({derived.name: values}, EVERY, EVERY)
            else:
                columns = columns.with_columns({derived.column: values})
        return replace(candidates, columns=columns)

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
        first_pass = self.first_pass if perspective.reads_best_only else None
        chosen = [documents_to_read(scored[number].columns, first_pass) for number in numbers]
        documents = [
            QueryDocument(as_read(scored[number].query), (), scored[number].documents[row].text)
            for number, rows in zip(numbers, chosen, strict=True)
            for row in rows
        ]
        scores = score_documents([perspective], documents, cache=self.cache, progress=progress)
        report_passages(scores.in_passages, "documents")
        for number, rows, span in zip(numbers, chosen, _slices([len(rows) for rows in chosen]), strict=True):
            scored[number] = _with_column(
                scored[number], perspective, rows, scores.values[span, 0], scores.in_passages[span]
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
