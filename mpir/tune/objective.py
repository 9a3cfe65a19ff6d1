"""The objective: a function from weights to one number, without running models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mpir.bioasq.submission_rules import FIRST_CUT
from mpir.core.weights import Weights
from mpir.errors import InputError, format_value
from mpir.tune.dataset import Dataset
from mpir.tune.measures import OF_RANKINGS, Measure, measure
from mpir.tune.submissions import Pool, Submissions
from mpir.types import F64, I64


class Objective:
    """The mean of a measure over the questions of a scored set, as a function of the weights.

    `name` and `version` identify the measure.
    """

    def __init__(self, scored: Dataset, measured: str | Measure = "document-map", *, version: int = 9) -> None:
        """Judge the candidates that all models read to the end.

        `measured` is a measure's name, or a function of `Submissions` to (Q,) values.

        Raises:
            InputError: no gold, an unknown measure or version, or scores that are not finite.
        """
        scored = scored.fully_read()
        _check_columns(scored)
        self.scored, self.version = scored, version
        self.name = measured if isinstance(measured, str) else getattr(measured, "__qualname__", repr(measured))
        self.measured = measured
        self._measure = measure(measured, version) if isinstance(measured, str) else measured
        self.pool = Pool(scored)

    def restricted(self, questions: Sequence[int] | I64) -> Objective:
        """Return the objective restricted to the questions with these numbers."""
        return Objective(self.scored.subset(questions), self.measured, version=self.version)

    def answers(self, weights: Weights) -> Submissions:
        """Return each question's submission with these weights, cut by their cut-offs if the measure uses them.

        Raises:
            InputError: other perspectives' weights.
        """
        is_cut = self.version >= FIRST_CUT and self.name not in OF_RANKINGS
        return self.pool.blended(weights if is_cut else replace(weights, cutoffs=None))

    def per_question(self, answers: Weights | Submissions) -> F64:
        """Return the measure of each question (Q,), NaN for those that do not count.

        Raises:
            InputError: a user's measure did not return a finite value for each question.
        """
        submissions = answers if isinstance(answers, Submissions) else self.answers(answers)
        values = np.asarray(self._measure(submissions), np.float64)
        if values.shape != (len(self.scored.questions),) or np.isinf(values).any() or np.isnan(values).all():
            raise InputError(
                f"the measure {self.name} gave values of shape {values.shape} with {np.isfinite(values).sum()} finite "
                f"ones for {len(self.scored.questions)} questions; expected one finite number for each (NaN leaves it "
                "out)."
            )
        return values

    def __call__(self, answers: Weights | Submissions) -> float:
        """The mean over the questions that count."""
        return float(np.nanmean(self.per_question(answers)))


def _check_columns(scored: Dataset) -> None:
    columns = scored.columns
    query_of = columns.query_of[columns.document_of]
    named = [(name, columns.document(name), columns.query_of) for name in columns.layout.documents]
    named += [(name, columns.sentence(name), query_of) for name in columns.layout.sentences]
    for name, values, owner in named:
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            question = scored.questions[owner[wrong[0]]].id
            raise InputError(
                f"the column {format_value(name)} holds {values[wrong[0]]} for question {question}; expected finite "
                "scores, so score the questions again."
            )
