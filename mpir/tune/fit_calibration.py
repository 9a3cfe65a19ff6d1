"""Fit the probabilities (core/calibration.py) on scored questions with gold, by logistic regression.

A candidate without a judgement counts as not relevant, as in BioASQ's measures, so a probability says how likely it is
that a candidate of such questions is judged relevant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.optimize import brentq

from mpir.core.blend import blend
from mpir.core.calibration import Calibration, Line, Reading, logistic
from mpir.core.weights import FIRST_STAGE, RECURSIVE, Weights
from mpir.errors import InputError, format_value
from mpir.evaluate.calibration import calibration_error, fit_logistic
from mpir.tune.dataset import Dataset
from mpir.tune.judgements import judge
from mpir.types import F64, Bool

MAX_INTERCEPT = 1000.0
"""The bounds of an intercept."""


def fit_calibration(scored: Dataset, weights: Weights) -> Calibration:
    """Fit the lines of documents (gold documents) and of sentences (they share a character with a gold snippet).

    There is a line for each `Reading` of which the scored questions have documents. That of unreached ones is over the
    context column, fitted on all documents; that of unread ones has the same slope, and is moved to the share of
    relevant ones among those that rank low by words, if the set has such: very few are. `made_by` has the data, the
    models of the columns, and the calibration error on the same questions.

    Raises:
        InputError: no gold, or weights of columns that depend on the other candidates.
    """
    if weights.normalise != "none":
        raise InputError(
            f"the weights have normalise {format_value(weights.normalise)}, so scores depend on the other candidates; "
            "a probability needs raw scores: tune without normalisation (none)."
        )
    columns, models = scored.columns, scored.made_by.get("perspectives", {})
    weights = weights.align_to(columns.layout)
    used = [name for name, weight in {**weights.alpha, **weights.beta}.items() if weight]
    if others := sorted(set(used) - set(models)):
        raise InputError(
            f"the weights use {format_value(others[0])}, which no model computes from a text alone, so scores depend "
            "on the other candidates; tune with the bounds 0 and 0 for it."
        )
    blended, judged = blend(columns, weights), judge(scored)
    has_gold = np.array([bool(question.snippets) for question in scored.questions])[columns.query_of]
    documents, sentences = {}, {}
    facts: dict[str, Any] = {"documents": {}, "sentences": {}}
    for reading, read in _readings(scored):
        rows = (read & has_gold)[columns.document_of]  # sentences of questions whose snippets are known
        documents[reading], facts["documents"][reading] = _fitted(blended.documents[read], judged.relevant[read])
        sentences[reading], facts["sentences"][reading] = _fitted(blended.sentences[rows], judged.overlaps[rows])
    if weights.context not in (*RECURSIVE, FIRST_STAGE):
        words = columns.document(weights.context)
        line, facts["documents"]["unreached"] = _fitted(words, judged.relevant)
        documents["unread"] = documents["unreached"] = line
        if (unread := np.asarray(scored.documents_left_out)).any():
            fitted = _shifted(line, words[unread], judged.relevant[unread])
            documents["unread"], facts["documents"]["unread"] = fitted
    made_by = {
        "perspectives": {name: models[name] for name in used},
        "data": scored.data,
        "questions": len(scored.questions),
        **facts,
    }
    return Calibration(weights, documents, sentences, made_by=made_by)


def _readings(scored: Dataset) -> Iterator[tuple[Reading, Bool]]:
    """Yield each reading and the flags (D,) of its documents, of questions all of whose documents were read, if any."""
    in_part, left_out = np.asarray(scored.documents_in_part), np.asarray(scored.documents_left_out)
    query_of = scored.columns.query_of
    is_cut = np.bincount(query_of, left_out, minlength=len(scored.questions)) > 0  # only its best documents were read
    read = ~left_out if is_cut.all() else ~is_cut[query_of]
    yield "whole", ~in_part & read
    if (in_part & read).any():
        yield "in_part", in_part & read


def _fitted(scores: F64, relevant: Bool) -> tuple[Line, Mapping[str, Any]]:
    """Fit a line, and return it with facts about the fit. Raises InputError for one class only, or scores that fall."""
    hits = int(relevant.sum())
    if not 0 < hits < len(relevant):
        raise InputError(
            f"{hits} of {len(relevant)} texts are relevant; the fit needs some that are, and some that are not."
        )
    slope, intercept = fit_logistic(scores, relevant.astype(float))
    if slope <= 0:
        raise InputError(
            f"higher scores are less relevant here (slope {slope:.4g} over {len(relevant)} texts, of which {hits} are "
            "relevant), so they are no probability; score more questions, or tune the weights first."
        )
    line = Line(slope, intercept)
    return line, _facts(line, scores, relevant)


def _shifted(line: Line, scores: F64, relevant: Bool) -> tuple[Line, Mapping[str, Any]]:
    """Move a line so that its mean probability is the share of relevant texts, by Laplace's rule of succession."""
    share = (np.count_nonzero(relevant) + 1) / (len(relevant) + 2)
    intercept = brentq(
        lambda value: float(logistic(line.slope * scores + value).mean() - share), -MAX_INTERCEPT, MAX_INTERCEPT
    )
    moved = Line(line.slope, float(intercept))
    return moved, _facts(moved, scores, relevant)


def _facts(line: Line, scores: F64, relevant: Bool) -> Mapping[str, Any]:
    probability = logistic(line.slope * scores + line.intercept)
    return {
        "judged": len(relevant),
        "gold": int(relevant.sum()),
        "mean probability": float(probability.mean()),
        "calibration error": calibration_error(probability, relevant.astype(float)),
    }
