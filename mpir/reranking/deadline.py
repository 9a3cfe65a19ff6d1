"""Reading under a deadline: what words promise is read first, then what the first exit promises is read to the end.

Documents that time does not reach are left out of the reading, or read in part, and keep their place by what is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

import numpy as np

from mpir.core.candidates import Candidates
from mpir.errors import InputError
from mpir.models.perspectives import Perspective
from mpir.models.perspectives.scoring import DocumentScores, score_documents
from mpir.reranking.score import Scorer
from mpir.reranking.stages import Stages, by_blend, read_on, to_read, with_columns
from mpir.types import I64
from mpir.validation import real_number

AT_ONCE = 8
"""Most documents that are read together: more would save little, and be late by more where they take longer."""
CAUTION = 1.3
"""How much longer than expected a reading may take."""
PRESENTING = 0.05
"""The share of the time that is left for blending and presenting."""


@dataclass(slots=True)
class Clock:
    """The time until a deadline, and what a character takes to read, by the readings so far."""

    until: float
    _pace: float = 0.0
    _begin: float = field(default_factory=monotonic)

    def chunk(self, rows: I64, lengths: I64) -> I64:
        """Return the first of some documents (rows) that can be read in time, by the lengths (D,) of all documents."""
        left = self.until - PRESENTING * (self.until - self._begin) - monotonic()
        if not self._pace:  # the first reading is of one document
            return rows[: int(left > 0)]
        takes = CAUTION * self._pace * np.cumsum(lengths[rows[:AT_ONCE]])
        return rows[: int(np.count_nonzero(takes <= left))]

    def note(self, characters: int, seconds: float) -> None:
        """Note how long a reading took; the first one, of one document, says too much for more."""
        pace = seconds / max(1, characters)
        self._pace = max(pace, (self._pace + pace) / 2)


def deadline_in(within: float) -> float:
    """Return the moment of the monotonic clock in that many seconds. Raises InputError for no positive number."""
    seconds = real_number("within", within, "a number of seconds above 0", lambda value: value > 0)
    return monotonic() + seconds


def check_deadline(perspectives: Sequence[Perspective], *, ranks_unread: bool) -> None:
    """Raise InputError where documents that time does not reach would have no probability."""
    has_pairs = any(p.documents_model is None and p.level == "sentence" for p in perspectives)
    if has_pairs or not ranks_unread:
        raise InputError(
            "within needs a bundle that reads documents and orders by probability, such as default or fast, with "
            "its own weights; leave it out, or name such a bundle."
        )


def score_until(scorer: Scorer, candidates: Candidates, until: float) -> Candidates:
    """Return a query's candidates with the columns that can be computed until a moment of the monotonic clock."""
    whole = [perspective for perspective in scorer.perspectives if perspective.documents_model is not None]
    (candidates,) = scorer.score_texts([candidates])
    stages, clock = Stages.of(whole), Clock(until)
    lengths = np.array([sum(map(len, texts)) + len(candidates.query) for texts in candidates.document_sentences])
    candidates = _read_first(scorer, candidates, stages, clock, lengths)
    if stages is None or scorer.cascade == "first":
        return candidates
    order = by_blend(candidates, scorer.weights)
    clock = Clock(until)  # layers after the exit take another time
    while len(rows := clock.chunk(order, lengths)):
        begin = monotonic()
        (candidates,) = read_on([candidates], whole, [np.sort(rows)], stages=stages, cache=scorer.cache, progress=False)
        clock.note(int(lengths[rows].sum()), monotonic() - begin)
        order = order[len(rows) :]
    return candidates


def _read_first(
    scorer: Scorer, candidates: Candidates, stages: Stages | None, clock: Clock, lengths: I64
) -> Candidates:
    """Return the candidates with the documents that can be read to the first exit, or to the end of a model without."""
    whole = [perspective for perspective in scorer.perspectives if perspective.documents_model is not None]
    words = candidates.columns.document(scorer.weights.context)
    order = np.argsort(-words, kind="stable")
    order = order[~candidates.documents_left_out[order]]
    readings: list[tuple[I64, DocumentScores]] = []
    while len(rows := clock.chunk(order, lengths)):
        begin = monotonic()
        models = None if stages is None else stages.first
        scores = score_documents(whole, to_read([candidates], [rows]), models=models, cache=scorer.cache)
        clock.note(int(lengths[rows].sum()), monotonic() - begin)
        readings.append((rows, scores))
        order = order[len(rows) :]
    candidates = _without(candidates, order)
    rows, scores = _joined(readings, len(whole))
    return with_columns(candidates, whole, scores, rows, in_part=stages is not None)


def _joined(readings: Sequence[tuple[I64, DocumentScores]], width: int) -> tuple[I64, DocumentScores]:
    """Return all rows that were read, and their scores one after the other."""
    if not readings:
        empty = DocumentScores.of([], width)
        return np.zeros(0, np.int64), empty
    offsets = np.cumsum([0, *(len(scores.values) for _, scores in readings[:-1])])
    joined = DocumentScores(
        values=np.concatenate([scores.values for _, scores in readings]),
        in_passages=np.concatenate([scores.in_passages for _, scores in readings]),
        starts=np.concatenate([scores.starts + offset for (_, scores), offset in zip(readings, offsets, strict=True)]),
    )
    return np.concatenate([rows for rows, _ in readings]), joined


def _without(candidates: Candidates, rows: I64) -> Candidates:
    """Return the candidates with the documents in `rows` left out of the reading, too, and without their sentences."""
    left_out = candidates.documents_left_out.copy()
    left_out[rows] = True
    columns = candidates.columns
    kept = ~left_out[columns.document_of]
    sentences = tuple(s for s, keep in zip(candidates.sentences, kept.tolist(), strict=True) if keep)
    return replace(
        candidates,
        sentences=sentences,
        columns=replace(columns, sentences=columns.sentences[kept], document_of=columns.document_of[kept]),
        in_passages=candidates.in_passages[kept],
        sentence_numbers=candidates.sentence_numbers[kept],
        documents_left_out=left_out,
        documents_unreached=left_out & ~candidates.documents_left_out,
    )
