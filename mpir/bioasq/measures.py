"""The BioASQ Task B Phase A measures, as the official program (BioASQ/Evaluation-Measures) computes them.

The five versions differ in two ways: the divisor of average precision, and whether questions without gold items
count. 2 is for BioASQ 1 and 2, 3 for 3 and 4, 5 for 5 to 7, 8 for 8, and 9 from BioASQ 9 on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpir.bioasq.spans import spans
from mpir.core.text import Question, Snippet
from mpir.errors import InputError, format_value
from mpir.validation import check_choice

Omitted = Literal["skip", "zero"]

# The divisor of average precision, given the number of gold items.
DIVISORS: dict[int, Callable[[int], int]] = {
    2: lambda gold: gold,
    3: lambda gold: 10,
    5: lambda gold: 10,
    8: lambda gold: min(10, gold),
    9: lambda gold: min(10, gold),
}
SKIPS_WITHOUT_GOLD = {9}
# Versions where average precision without gold snippets is 0 / 0, which the official sum of logarithms skips.
GMAP_PASSES_OVER = {2, 8}
GMAP_EPSILON = 0.00001

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionMeasures:
    """One array per measure, each (Q,), over the questions that count, in the gold file's order.

    `gold` is each question's number of gold items, overlapping snippets counted as one.
    """

    questions: tuple[str, ...]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]
    average_precision: NDArray[np.float64]
    gold: NDArray[np.int64]


class Measured(NamedTuple):
    """The measures of one question, and its number of gold items."""

    precision: float
    recall: float
    f1: float
    average_precision: float
    gold: int


def evaluate(
    gold: Sequence[Question], submission: Sequence[Question], *, version: int = 9, omitted: Omitted = "skip"
) -> dict[str, dict[str, float]]:
    """Mean precision, recall, F1, MAP and GMAP of a submission, for documents and for snippets.

    With ``omitted="skip"`` the figures are the official ones: a gold question that the submission leaves out is
    skipped, and the snippet GMAP of versions 2 and 8 counts a question without gold snippets as 1. With
    ``omitted="zero"`` both count as zero. Submitted questions that are not in the gold file are ignored. Where no
    question counts, the means are 0.

    Returns:
        ``{"documents": measures, "snippets": measures}``; the measures are ``mean_precision``, ``mean_recall``,
        ``mean_f1``, ``map`` and ``gmap``.

    Raises:
        InputError: as `question_measures`.
    """
    measures = question_measures(gold, submission, version=version, omitted=omitted)
    passes_over = omitted == "skip" and version in GMAP_PASSES_OVER
    return {
        "documents": _means(measures["documents"], passes_over=False),
        "snippets": _means(measures["snippets"], passes_over=passes_over),
    }


def question_measures(
    gold: Sequence[Question], submission: Sequence[Question], *, version: int = 9, omitted: Omitted = "skip"
) -> dict[str, QuestionMeasures]:
    """The measures of each question, for ``"documents"`` and for ``"snippets"``.

    The arrays of two submissions can be compared pair by pair where both answer the same questions, and always with
    ``omitted="zero"``. Gold snippets without offsets, or that end before they begin, cannot be measured: they are
    left out, and a warning with their number is logged.

    Raises:
        InputError: an unknown version or `omitted`, a repeated question id, a submitted snippet without offsets or
            that ends before it begins, no gold items at all, or no gold question answered.
    """
    _check_options(version, omitted)
    gold = without_unusable(gold)
    gold_by_id, answers = _by_id(gold, "gold"), _by_id(submission, "submitted")
    _check_pairing(gold_by_id, answers)
    pairs = [
        (question, answers.get(question.id, Question(question.id, question.body)))
        for question in gold
        if omitted == "zero" or question.id in answers
    ]
    documents = [(question.id, _measure_documents(question, answer, version)) for question, answer in pairs]
    snippets = [(question.id, measure_snippets(question, answer, version)) for question, answer in pairs]
    return {"documents": _stack(documents, version), "snippets": _stack(snippets, version)}


def _measure_documents(question: Question, answer: Question, version: int) -> Measured:
    gold, returned = set(question.documents or ()), list(dict.fromkeys(answer.documents or ()))
    hits = [int(document in gold) for document in returned]
    return _row(hits, [1] * len(hits), hits, [1] * len(gold), version)


def measure_snippets(question: Question, answer: Question, version: int) -> Measured:
    """The snippet measures of one question."""
    gold, returned = spans(measurable(question), question.id), spans(answer.snippets or (), answer.id)
    documents = {span.document for span in gold}
    matched = [sum(span.shared(gold_span) for gold_span in gold) for span in returned]
    # The official test was meant to require an overlap, but holds for any snippet of a document with gold snippets.
    relevant = [int(span.document in documents) for span in returned]
    return _row(matched, [span.size for span in returned], relevant, [span.size for span in gold], version)


def _row(
    matched: Sequence[int], sizes: Sequence[int], relevant: Sequence[int], gold_sizes: Sequence[int], version: int
) -> Measured:
    """The measures of R returned items (R,) and G gold ones (G,); a document is an item of size 1."""
    if not matched or not gold_sizes:
        return Measured(0.0, 0.0, 0.0, 0.0, len(gold_sizes))
    precision, recall = sum(matched) / sum(sizes), sum(matched) / sum(gold_sizes)
    f1 = 2 * precision * recall / (precision + recall) if precision else 0.0
    precision_at = np.cumsum(matched) / np.cumsum(sizes)
    average_precision = float(precision_at @ np.asarray(relevant)) / DIVISORS[version](len(gold_sizes))
    return Measured(precision, recall, f1, average_precision, len(gold_sizes))


def _stack(rows: Iterable[tuple[str, Measured]], version: int) -> QuestionMeasures:
    counted = [(question, row) for question, row in rows if row.gold or version not in SKIPS_WITHOUT_GOLD]
    table = np.array([row for _, row in counted], dtype=float).reshape(-1, len(Measured._fields))
    precision, recall, f1, average_precision, gold = table.T
    questions = tuple(question for question, _ in counted)
    return QuestionMeasures(
        questions=questions,
        precision=precision,
        recall=recall,
        f1=f1,
        average_precision=average_precision,
        gold=gold.astype(np.int64),
    )


def _means(measures: QuestionMeasures, *, passes_over: bool) -> dict[str, float]:
    columns = (measures.precision, measures.recall, measures.f1, measures.average_precision)
    means = (float(column.mean()) if column.size else 0.0 for column in columns)
    names = ("mean_precision", "mean_recall", "mean_f1", "map")
    return {**dict(zip(names, means, strict=True)), "gmap": _gmap(measures, passes_over=passes_over)}


def _gmap(measures: QuestionMeasures, *, passes_over: bool) -> float:
    logarithms = np.log(measures.average_precision + GMAP_EPSILON)
    if passes_over:
        logarithms = logarithms[measures.gold > 0]
    return float(np.exp(logarithms.sum() / len(measures.questions))) if logarithms.size else 0.0


def measurable(question: Question) -> list[Snippet]:
    """The gold snippets with usable offsets; in the training file thousands lack offsets and a few are reversed."""
    items = question.snippets or ()
    return [item for item in items if item.begin is not None and item.end is not None and item.begin <= item.end]


def _check_options(version: int, omitted: str) -> None:
    check_choice("the version of the BioASQ measures", version, DIVISORS)
    check_choice("omitted", omitted, ("skip", "zero"))  # "skip" is what the official program does


def _by_id(questions: Sequence[Question], role: str) -> dict[str, Question]:
    by_id: dict[str, Question] = {}
    for number, question in enumerate(questions, 1):
        if question.id in by_id:
            raise InputError(
                f"{role} question {number} repeats the id {format_value(question.id)}; keep one question for each id."
            )
        by_id[question.id] = question
    return by_id


def _check_pairing(gold: dict[str, Question], answers: dict[str, Question]) -> None:
    if not any(question.documents or question.snippets for question in gold.values()):
        raise InputError(
            f"none of the {len(gold)} gold questions has documents or snippets; "
            "give the batch's gold file, not its test file."
        )
    if not gold.keys() & answers.keys():
        raise InputError(
            f"none of the {len(answers)} submitted questions is among the {len(gold)} gold ones; "
            "give the gold file of the same batch."
        )


def without_unusable(gold: Sequence[Question]) -> list[Question]:
    """Leave out the gold snippets without usable offsets, and log their number.

    A caller that measures several submissions does so once; `question_measures` does it for others.
    """
    measured = [
        question if question.snippets is None else replace(question, snippets=tuple(measurable(question)))
        for question in gold
    ]
    total, usable = (sum(len(question.snippets or ()) for question in questions) for questions in (gold, measured))
    if usable < total:
        logger.warning("%d of %d gold snippets have no usable offsets and are left out", total - usable, total)
    return measured
