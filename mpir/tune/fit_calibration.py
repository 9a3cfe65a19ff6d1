"""Fit the probabilities (core/calibration.py) on scored questions with gold, by logistic regression.

No coefficient is below 0, so that a higher score of a model never makes a document less probable. A candidate without a
judgement counts as not relevant, as in BioASQ's measures, so a probability says how likely it is that a candidate of
such questions is judged relevant.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from mpir.core.calibration import Calibration, Logistic, document_features, sentence_features
from mpir.core.columns import Column, Layout
from mpir.errors import InputError
from mpir.evaluate.calibration import calibration_error, fit_logistic_regression
from mpir.tune.dataset import Dataset
from mpir.tune.judgements import judge
from mpir.types import F64, Bool

LOWEST = 0.01
"""The quantile of a sentence column's scores that counts for a document without sentences."""


def fit_calibration(scored: Dataset) -> Calibration:
    """Fit the regressions of documents (gold documents) and of sentences (they share a character with a gold snippet).

    Documents that some model did not read, or read to its first exit only, are not among them. `made_by` has the data,
    the models of the columns, and the calibration error on the same questions.

    Raises:
        InputError: no gold, or no column of a model.
    """
    scored = scored.fully_read()
    models = scored.made_by.get("perspectives", {})
    sentences, documents = _model_columns(scored.columns.layout, models)
    if not sentences:
        raise InputError("the scored questions have no sentence column of a model; score them with the bundle.")
    columns, judged = scored.columns, judge(scored)
    lowest = {name: float(np.quantile(columns.sentence(name), LOWEST)) for name in sentences}
    logits = tuple(name for name in sentences if _is_probability(columns.sentence(name)))
    features = document_features(columns, lowest, logits)
    of_sentences = [f"{take} {name}" for name in sentences for take in ("best", "top")]
    has_gold = np.array([bool(question.snippets) for question in scored.questions])[columns.query_of]
    rows = has_gold[columns.document_of]  # sentences of questions whose snippets are known
    of_each = {name: values[rows] for name, values in sentence_features(columns, sentences, logits).items()}
    regressions = {
        "document": _fitted(features, [*of_sentences, *documents], judged.relevant, "documents"),
        "partial": _fitted(features, of_sentences, judged.relevant, "documents"),
        "sentence": _fitted(of_each, sentences, judged.overlaps[rows], "sentences"),
    }
    made_by = {
        "perspectives": {name: models[name] for name in (*sentences, *documents)},
        "data": scored.data,
        "questions": len(scored.questions),
        "document": _facts(regressions["document"](features), judged.relevant),
        "sentence": _facts(regressions["sentence"](of_each), judged.overlaps[rows]),
    }
    return Calibration(**regressions, lowest=lowest, logits=logits, made_by=made_by)


def _model_columns(layout: Layout, models: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the sentence columns and document columns that models computed from a text alone."""

    def names(columns: tuple[Column, ...]) -> tuple[str, ...]:
        return tuple(column.name for column in columns if column.name in models and not column.signed)

    return names(layout.sentence_columns), names(layout.document_columns)


def _is_probability(values: F64) -> bool:
    return bool(values.min() >= 0 and values.max() <= 1)


def _fitted(features: Mapping[str, F64], names: Collection[str], relevant: Bool, noun: str) -> Logistic:
    """Fit a regression on these features. Raises InputError for one class only."""
    hits = int(relevant.sum())
    if not 0 < hits < len(relevant):
        raise InputError(
            f"{hits} of {len(relevant)} {noun} are relevant; the fit needs some that are, and some that are not."
        )
    matrix = np.column_stack([features[name] for name in names])
    intercept, coefficients = fit_logistic_regression(matrix, relevant.astype(float), rising=True)
    return Logistic(intercept, dict(zip(names, coefficients, strict=True)))


def _facts(probability: F64, relevant: Bool) -> Mapping[str, Any]:
    return {
        "judged": len(relevant),
        "gold": int(relevant.sum()),
        "mean probability": float(probability.mean()),
        "calibration error": calibration_error(probability, relevant.astype(float)),
    }
