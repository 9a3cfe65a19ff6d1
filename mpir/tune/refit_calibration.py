"""Refit the probabilities of documents to a user's judgements: a line over their log-odds (Platt scaling).

The line is the same for documents that were read to the end, in part or not at all, so every order stays as it was.
What sentences answer is not judged, so their probabilities stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

from mpir.core.calibration import Calibration, Line, logistic
from mpir.errors import InputError
from mpir.evaluate.calibration import calibration_error, fit_platt
from mpir.types import F64, I64, Bool

FOLDS, FEWEST, LEVEL = 10, 5, 0.05
"""Folds of the cross-validation; the fewest relevant and other texts, and questions to hold out whole; and the level of
the test whether scores separate them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How well probabilities fit judgements: the expected calibration error, and the mean squared error (Brier)."""

    calibration_error: float
    brier: float

    @classmethod
    def of(cls, probabilities: F64, relevant: Bool) -> Fit:
        """Measure probabilities (N,)."""
        labels = relevant.astype(float)
        return cls(
            calibration_error=calibration_error(probabilities, labels),
            brier=float(np.mean((probabilities - labels) ** 2)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Refit:
    """The outcome on `judged` texts: `after` is on judgements that the line was not fitted on.

    `auc` is the share of pairs of a relevant and another text in which the relevant one is more probable, and `p` that
    of a separation so good by chance (Mann and Whitney's test).
    """

    judged: int
    relevant: int
    auc: float
    p: float
    before: Fit
    after: Fit
    line: Line | None

    @property
    def separates(self) -> bool:
        """Whether relevant texts are more probable than others, beyond chance."""
        return self.p < LEVEL

    @property
    def is_better(self) -> bool:
        """Whether the new probabilities fit judgements better that they were not fitted on."""
        return self.line is not None and self.after.brier < self.before.brier


def refit(log_odds: F64, relevant: Bool, question_of: I64) -> Refit:
    """Fit a line over the log-odds (N,) of judged texts. Where nothing separates them, there is no line.

    With `FEWEST` questions or more, each fold holds out whole questions.

    Raises:
        InputError: too few relevant texts, or too few others.
    """
    hits = int(relevant.sum())
    if min(hits, len(relevant) - hits) < FEWEST:
        raise InputError(
            f"too few judgements (got {hits} relevant and {len(relevant) - hits} others, expected at least {FEWEST} of "
            "each, about 50 in all). Judge more."
        )
    test = mannwhitneyu(log_odds[relevant], log_odds[~relevant], alternative="greater")
    separates = bool(test.pvalue < LEVEL)
    before = Fit.of(logistic(log_odds), relevant)
    return Refit(
        judged=len(relevant),
        relevant=hits,
        auc=float(test.statistic) / (hits * (len(relevant) - hits)),
        p=float(test.pvalue),
        before=before,
        after=Fit.of(held_out(log_odds, relevant, question_of), relevant) if separates else before,
        line=Line(*fit_platt(log_odds, relevant)) if separates else None,
    )


def held_out(log_odds: F64, relevant: Bool, question_of: I64) -> F64:
    """Return each text's probability (N,) by the line that the other folds give."""
    probabilities = np.empty(len(relevant))
    for fold in _folds(relevant, question_of):
        slope, intercept = fit_platt(log_odds[~fold], relevant[~fold])
        probabilities[fold] = logistic(max(slope, 0.0) * log_odds[fold] + intercept)
    return probabilities


def _folds(relevant: Bool, question_of: I64) -> Sequence[Bool]:
    """Return the flags (N,) of the texts of each fold: whole questions, or as many relevant texts in each."""
    generator = np.random.default_rng(0)
    questions = np.unique(question_of)
    if len(questions) >= FEWEST:
        groups = np.array_split(generator.permutation(questions), min(FOLDS, len(questions)))
        folds = [np.isin(question_of, group) for group in groups]
        if all(0 < relevant[~fold].sum() < (~fold).sum() for fold in folds):
            return folds
    number = np.empty(len(relevant), int)
    for label in (True, False):
        rows = generator.permutation(np.flatnonzero(relevant == label))
        number[rows] = np.arange(len(rows)) % FOLDS
    return [number == fold for fold in np.unique(number)]


def with_refit(calibration: Calibration, fitted: Refit) -> Calibration:
    """Return a calibration whose documents have the refitted probabilities; nothing else changes, the order neither."""
    if fitted.line is None:
        return calibration
    slope, intercept = fitted.line.slope, fitted.line.intercept
    documents = {
        reading: Line(slope * line.slope, slope * line.intercept + intercept)
        for reading, line in calibration.documents.items()
    }
    facts: Mapping[str, Any] = asdict(fitted)
    return replace(calibration, documents=documents, made_by={**calibration.made_by, "refit": facts})
