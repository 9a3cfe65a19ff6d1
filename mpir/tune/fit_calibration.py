"""Fit the maps from scores to probabilities (core/calibration.py) on scored questions with gold (Platt, 1999).

A candidate without a judgement counts as not relevant, as in BioASQ's measures, so a probability says how likely it is
that a candidate of such questions is relevant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scipy.special import expit

from mpir.core.blend import blend_queries
from mpir.core.calibration import Logistic, Relevance
from mpir.core.weights import Weights
from mpir.errors import InputError
from mpir.evaluate.calibration import fit_platt
from mpir.tune.dataset import Dataset
from mpir.tune.judgements import judge
from mpir.types import F64, Bool


def fit_relevance(scored: Dataset, weights: Weights, source: str = "weights") -> Relevance:
    """Fit the maps of S_DOC (gold documents) and S_SENT (sentences that share a character with a gold snippet).

    `made_by` has the data, and precision and recall at 0.5 on the same questions, with recall among the candidates.

    Raises:
        InputError: weights for other columns, no gold, or scores that do not increase with relevance.
    """
    weights = weights.align_to(scored.columns.layout, source)
    blended, judged = blend_queries(scored.columns, weights), judge(scored)
    labelled = {
        "document": (blended.documents, judged.relevant),
        "sentence": (blended.sentences, judged.overlaps),
    }
    maps = {name: platt(scores, relevant, name) for name, (scores, relevant) in labelled.items()}
    made_by = {
        "weights": weights.fingerprint,
        "data": scored.data,
        "questions": len(scored.questions),
        **{name: _at_half(maps[name], scores, relevant) for name, (scores, relevant) in labelled.items()},
    }
    return Relevance(maps["document"], maps["sentence"], made_by)


def platt(scores: F64, relevant: Bool, noun: str = "document") -> Logistic:
    """Fit the logistic map from scores (N,) to relevance (N,) by maximum likelihood.

    Raises:
        InputError: only one class, or relevant candidates that do not score higher.
    """
    hits = int(relevant.sum())
    if not 0 < hits < len(scores):
        raise InputError(
            f"{hits} of {len(scores)} {noun}s are relevant; a map needs some that are, and some that are not."
        )
    slope, intercept = fit_platt(scores, relevant)
    if slope <= 0:
        raise InputError(f"gold {noun}s don't score higher than others; use weights that were tuned on such questions.")
    return Logistic(slope, intercept)


def _at_half(curve: Logistic, scores: F64, relevant: Bool) -> Mapping[str, Any]:
    above = expit(curve.slope * scores + curve.intercept) >= 0.5
    hits = int((above & relevant).sum())
    return {
        "judged": len(scores),
        "golden": int(relevant.sum()),
        "precision at 0.5": hits / max(1, int(above.sum())),
        "recall at 0.5": hits / int(relevant.sum()),
    }
