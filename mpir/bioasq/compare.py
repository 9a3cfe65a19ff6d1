"""Compare BioASQ submissions question by question, in the official measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mpir.bioasq.measures import Omitted, QuestionMeasures, measurable, question_measures
from mpir.core.text import Question
from mpir.errors import InputError
from mpir.evaluate.comparison import Comparison
from mpir.evaluate.groupings import group_queries
from mpir.types import F64

LEVELS = ("documents", "snippets")


def compare_submissions(
    gold: Sequence[Question],
    submissions: Mapping[str, Sequence[Question]],
    *,
    version: int = 9,
    omitted: Omitted = "skip",
    groupings: Sequence[str] = (),
) -> dict[str, Comparison]:
    """The comparison of "documents" and of "snippets", over the questions that count in every submission.

    Its main measure is ``map``. GMAP has no value of a single question, so it is left out.

    Raises:
        InputError: as `question_measures`, and where no question counts in all submissions.
    """
    measured = {
        name: question_measures(gold, submission, version=version, omitted=omitted)
        for name, submission in submissions.items()
    }
    by_level = {level: {name: levels[level] for name, levels in measured.items()} for level in LEVELS}
    return {
        level: _compare_level(systems, level, gold, groupings)
        for level, systems in by_level.items()
        if any(measures.questions for measures in systems.values())
    }


def _compare_level(
    measured: Mapping[str, QuestionMeasures], level: str, gold: Sequence[Question], groupings: Sequence[str]
) -> Comparison:
    counted = [set(measures.questions) for measures in measured.values()]
    queries = [question.id for question in gold if all(question.id in names for names in counted)]
    if not queries:
        raise InputError(
            "the submissions have no question in common; compare submissions to one batch, or count "
            "omitted questions as zero."
        )
    groups = group_queries(
        groupings,
        queries,
        relevant={
            question.id: len(set(question.documents or ())) if level == "documents" else len(measurable(question))
            for question in gold
        },
        texts={question.id: question.body for question in gold},
        types={question.id: question.type or "" for question in gold},
    )
    return Comparison(
        queries=queries,
        systems={name: _values(row, queries) for name, row in measured.items()},
        groups=groups,
        left_out=len(set.union(*counted)) - len(queries),
    )


def _values(measures: QuestionMeasures, queries: Sequence[str]) -> dict[str, F64]:
    rows = {name: row for row, name in enumerate(measures.questions)}
    chosen = np.array([rows[name] for name in queries], np.int64)
    columns = {
        "map": measures.average_precision,
        "mean_f1": measures.f1,
        "mean_precision": measures.precision,
        "mean_recall": measures.recall,
    }
    return {name: column[chosen] for name, column in columns.items()}
