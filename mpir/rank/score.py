"""Filling in the scores: what has been gathered is read by the perspectives, and by what rests on them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mpir.errors import InputError, format_value
from mpir.perspectives import Perspective, ScoreCache, score_pairs
from mpir.perspectives.base import Derived
from mpir.perspectives.normalization import COSINE
from mpir.rank.candidates import Candidates
from mpir.rank.columns import Columns
from mpir.text.types import Pair
from mpir.types import F64, Bool
from mpir.validation import COSINE_LIMIT

log = logging.getLogger(__name__)


def fill_sentences(
    parts: Sequence[Candidates],
    perspectives: Sequence[Perspective],
    derived: Sequence[Derived],
    *,
    cache: ScoreCache | None,
    progress: bool = False,
) -> list[Candidates]:
    """Queries with the columns of their sentences, and with those that rest on others."""
    ordering = [one.name for one in perspectives if not one.evidence]
    signed = [one.name for one in perspectives if one.signed]
    pairs = [(part.asked, sentence.text) for part in parts for sentence in part.sentences]
    rows, before, together = _with_antecedents(parts)
    found = score_pairs(perspectives, [*pairs, *before, *together], cache=cache, progress=progress)
    values, in_passages = found.values[: len(pairs)], found.in_passages[: len(pairs)]
    _lift(values, rows, *np.split(found.values[len(pairs) :], 2), which=[not one.signed for one in perspectives])
    report_passages(in_passages, "sentences")
    filled, start = [], 0
    for part in parts:
        of_part = slice(start, start := start + len(part.sentences))
        named = {one.name: values[of_part, i] for i, one in enumerate(perspectives)}
        columns = _derive(part, part.columns.with_sentences(named, ordering, signed), derived)
        filled.append(replace(part, columns=columns, in_passages=in_passages[of_part]))
    return filled


def _with_antecedents(parts: Sequence[Candidates]) -> tuple[list[int], list[Pair], list[Pair]]:
    """Rows (A,) of the sentences that begin with "It" or the like; pairs of what that is, and of both as one text."""
    rows, before, together, start = [], [], [], 0
    for part in parts:
        for row, text in part.antecedents.items():
            rows.append(start + row)
            before.append((part.asked, text))
            together.append((part.asked, f"{text} {part.sentences[row].text}"))
        start += len(part.sentences)
    return rows, before, together


def _lift(values: F64, rows: list[int], before: F64, together: F64, *, which: Sequence[bool]) -> None:
    """Add to a sentence, in place, what it and its antecedent together have above the better of the two, if anything.

    "It is caused by mutations of CFTR." gains behind "Cystic fibrosis", and nothing behind what says so already.
    """
    gain = together - np.maximum(values[rows], before)
    values[rows] += np.where(which, gain, 0).clip(0)


def _derive(part: Candidates, columns: Columns, derived: Sequence[Derived]) -> Columns:
    for one in derived:
        texts, scores = [sentence.text for sentence in part.sentences], columns.sentence(one.rests_on)
        values = one.derive(texts, columns.document_of, columns.first, scores)
        columns = columns.with_sentences({one.name: values}, () if one.evidence else (one.name,))
    return columns


def fill_documents(
    parts: Sequence[Candidates],
    perspectives: Sequence[Perspective],
    *,
    cache: ScoreCache | None,
    progress: bool = False,
) -> list[Candidates]:
    """Queries with the document columns that they did not bring: an index may have known some without a model."""
    filled = list(parts)
    for one in perspectives:
        lacking = [number for number, part in enumerate(filled) if one.name not in part.columns.layout.documents]
        pairs = [(filled[number].asked, document.text) for number in lacking for document in filled[number].documents]
        found = score_pairs([one], pairs, cache=cache, progress=progress)
        report_passages(found.in_passages, "documents")
        start = 0
        for number in lacking:
            part = filled[number]
            rows = slice(start, start := start + len(part.documents))
            named = {one.name: found.values[rows, 0]}
            columns = part.columns.with_documents(named, [one.name] if one.signed else ())
            long = part.documents_in_passages | found.in_passages[rows]
            filled[number] = replace(part, columns=columns, documents_in_passages=long)
    return filled


def check_cosines(parts: Sequence[Candidates], perspectives: Sequence[Perspective]) -> None:
    """Refuse scores that documents bring in place of a perspective whose scores are cosines, and that are none.

    Raises:
        InputError: a score below -1 or above 1, beyond what rounding explains.
    """
    for name in (one.name for one in perspectives if getattr(one, "scale", None) == COSINE):
        for part in (part for part in parts if name in part.columns.layout.documents):
            for document, score in zip(part.documents, part.columns.document(name).tolist(), strict=True):
                if not abs(score) <= COSINE_LIMIT:
                    raise InputError(
                        f"document {format_value(document.id)} of the query {format_value(part.query)} has the score "
                        f"{format_value(name)} {score:.6g}; expected a cosine from -1 to 1 (the index or file that "
                        "gives it may be damaged)."
                    )


def report_passages(in_passages: Bool, what: str) -> None:
    """Say how many texts were read in passages, if any were."""
    if in_passages.any():
        message = "%d of %d %s were too long for a model, alone or with the question, and count with their best passage"
        log.warning(message, in_passages.sum(), len(in_passages), what)
