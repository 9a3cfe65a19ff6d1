"""Calibration: the probability that a reader would judge a document relevant to a question.

It is computed from the question and the document alone, by logistic regression on raw outputs of the models (Platt,
"Probabilistic outputs for support vector machines", 1999). Scores that depend on the candidate list, such as BM25,
agreement and everything scaled within a list, have no part in it, and neither have the weights of the blend.

Other programs get a number with the same property as a document's score, its `Relevance`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field, fields
from typing import Any, Self

import numpy as np

from mpir.core.blend import best_sentences
from mpir.core.checksum import verify_checksum
from mpir.core.columns import Columns, Layout
from mpir.errors import ArtefactError, InputError, format_value
from mpir.types import F64, Bool
from mpir.validation import is_finite

TOP = 3
"""The number of a document's highest sentence scores whose mean is a feature."""
SMALLEST = 1e-6
"""The lowest probability (and the highest, from 1) that is read as a logit, which is infinite at 0 and 1."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """Logistic regression: the intercept, and the coefficient of each feature by name."""

    intercept: float
    terms: Mapping[str, float]

    def __post_init__(self) -> None:
        for name, value in {"intercept": self.intercept, **self.terms}.items():
            if not is_finite(value):
                raise ArtefactError(f"relevance: {name} is {format_value(value)}; expected a finite number.")

    def __call__(self, features: Mapping[str, F64]) -> F64:
        """Return the probability (M,) of each row of features by name (M,)."""
        logit = self.intercept + sum((value * features[name] for name, value in self.terms.items()), np.zeros(1))
        small = np.exp(-np.abs(logit))
        probability: F64 = np.where(logit >= 0, 1, small) / (1 + small)
        return probability


@dataclass(frozen=True, slots=True)
class Calibration:
    """The regressions for documents and sentences, and the scales of the columns that they read.

    `document` is for documents with all columns, and `partial` for those that a slow document column left out.
    `lowest` holds, by sentence column, the score that counts for a document without sentences. Columns in `logits`
    are probabilities, which are read as logits. `made_by` names the data and the models.

    Raises:
        ArtefactError: a number that is not finite.
    """

    document: Logistic
    partial: Logistic
    sentence: Logistic
    _: KW_ONLY
    lowest: Mapping[str, float]
    logits: tuple[str, ...] = ()
    made_by: Mapping[str, Any] = field(default_factory=dict)

    @property
    def models(self) -> Mapping[str, Any]:
        """The fingerprint of the model behind each column that the regressions read."""
        models: Mapping[str, Any] = self.made_by.get("perspectives", {})
        return models

    def is_for(self, layout: Layout) -> bool:
        """Whether a layout has all columns that the regressions read."""
        return self.models.keys() <= {*layout.documents, *layout.sentences}

    def documents(self, columns: Columns, left_out: Bool | None = None) -> F64:
        """Return the probability (D,) of each document; `left_out` (D,) marks those without all document columns."""
        features = document_features(columns, self.lowest, self.logits)
        probability = self.document(features)
        return probability if left_out is None else np.where(left_out, self.partial(features), probability)

    def sentences(self, columns: Columns) -> F64:
        """Return the probability (N,) of each sentence to belong to an answer."""
        return self.sentence(sentence_features(columns, tuple(self.lowest), self.logits))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able dictionary; `from_dict` restores the calibration."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], source: str = "relevance") -> Self:
        """Return the calibration that `to_dict` wrote, with or without a checksum.

        Raises:
            ArtefactError: the form is wrong, or the values do not match their checksum; `source` begins the message.
        """
        values = verify_checksum(values, source)
        names = {item.name for item in fields(cls)}
        try:
            if set(values) - names:
                raise TypeError(f"unknown key {min(set(values) - names)}")
            regressions = (Logistic(**values[name]) for name in ("document", "partial", "sentence"))
            logits, made_by = tuple(values.get("logits", ())), dict(values.get("made_by", {}))
            return cls(*regressions, lowest=dict(values["lowest"]), logits=logits, made_by=made_by)
        except (KeyError, TypeError, ValueError) as error:
            raise ArtefactError(
                f"{source}: expected the regressions that mpir bundle calibrate writes, got "
                f"{format_value(dict(values))}; run mpir bundle calibrate again."
            ) from error
        except ArtefactError as error:
            raise ArtefactError(f"{source}: {str(error).removeprefix('relevance: ')}") from error


def check_calibrated_models(calibration: Calibration, models: Mapping[str, Any], source: str) -> None:
    """Raise InputError if a column comes from another model than the one that the calibration was fitted on."""
    for name, expected in calibration.models.items():
        if name in models and models[name] != expected:
            raise InputError(
                f"{source}: the probabilities were fitted on another model for {format_value(name)} (got "
                f"{format_value(models[name])}, expected {format_value(expected)}); run mpir bundle calibrate."
            )


def document_features(columns: Columns, lowest: Mapping[str, float], logits: tuple[str, ...]) -> dict[str, F64]:
    """Return the features (D,) by name: a document's highest score and the mean of its three highest by sentence column
    in `lowest`, and its own raw scores."""
    count, features = len(columns.documents), dict(zip(columns.layout.documents, columns.documents.T, strict=True))
    for name, values in sentence_features(columns, tuple(lowest), logits).items():
        best = best_sentences(values, columns.document_of, count, TOP)
        top = np.append(values, np.nan)[best]
        without = float(as_logits(np.array(lowest[name]))) if name in logits else lowest[name]
        top[:, 0] = np.where(best[:, 0] < 0, without, top[:, 0])
        features |= {f"best {name}": top[:, 0], f"top {name}": np.nanmean(top, axis=1)}
    return features


def sentence_features(columns: Columns, names: tuple[str, ...], logits: tuple[str, ...]) -> dict[str, F64]:
    """Return the features (N,) by name: a sentence's raw scores, probabilities as logits."""
    raw = {name: columns.sentence(name) for name in names}
    return {name: as_logits(values) if name in logits else values for name, values in raw.items()}


def as_logits(probabilities: F64) -> F64:
    """Return the logits of probabilities, which are bounded by `SMALLEST`."""
    bounded = np.clip(probabilities, SMALLEST, 1 - SMALLEST)
    logits: F64 = np.log(bounded / (1 - bounded))
    return logits


TOPS = {"probability": 1.0, "0-5": 5.0, "0-4": 4.0}
"""The highest values of bounded scales."""
COSINE = "cosine"
BOUNDED = {**TOPS, COSINE: 1.0}
"""The highest values of scales whose values below 0 count as 0."""
LOGIT, OWN_SCALE = "logit", "own"
"""An unbounded scale with 0 between relevant and not, and a scale of a model's own, whose values stay as they are."""


def logistic(values: F64) -> F64:
    """Return the logistic function of values, without overflow."""
    probabilities: F64 = (1 + np.tanh(values / 2)) / 2
    return probabilities


def declared_output(values: F64, scale: str) -> F64:
    """Return a model's scores as its declaration means them: from 0 to 1, unless the scale is the model's own."""
    if scale == OWN_SCALE:
        return values
    outputs: F64 = logistic(values) if scale == LOGIT else np.clip(values / BOUNDED[scale], 0.0, 1.0)
    return outputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """How the relevance of documents and sentences is computed: the number that other programs get as their score.

    Programs compare it between requests and with thresholds, so it is computed from the query and the document alone
    wherever the models allow: a calibrated probability, the declared output of a model that the user names, or the mean
    of their logits. Only a blend without a calibration has no such number.

    `documents` and `sentences` are columns of named models, each with its scale. They replace the probability if they
    are the `only_models` that order documents, and join it otherwise. With `of_blend` it is the logistic function of
    the blended score, which compares documents of one query only.
    """

    documents: Mapping[str, str] = field(default_factory=dict)
    sentences: Mapping[str, str] = field(default_factory=dict)
    only_models: bool = False
    of_blend: bool = False

    def of_documents(self, columns: Columns, scores: F64, probabilities: F64 | None, left_out: Bool) -> F64:
        """Return the relevance (D,) of documents, from their blended scores and their probabilities, if any.

        A cosine that was not computed (`left_out`) does not count.
        """
        outputs = [
            np.where(left_out & (scale == COSINE), np.nan, declared_output(columns.document(name), scale))
            for name, scale in self.documents.items()
        ]
        if self.only_models and not outputs:
            return self._of_best_sentences(columns)
        if self.only_models and len(outputs) == 1:
            return outputs[0]
        if self.of_blend or (probabilities is None and not self.only_models):
            return logistic(scores)
        if probabilities is not None and not self.only_models:
            outputs.append(probabilities)
        return outputs[0] if len(outputs) == 1 else logistic(np.nanmean([as_logits(v) for v in outputs], axis=0))

    def of_sentences(self, columns: Columns, scores: F64, probabilities: F64 | None) -> F64:
        """Return the relevance (N,) of sentences: the output of a model alone, the probability, or the logistic."""
        for name, scale in self.sentences.items():
            return declared_output(columns.sentence(name), scale)
        return logistic(scores) if probabilities is None else probabilities

    def _of_best_sentences(self, columns: Columns) -> F64:
        """Return the highest relevance (D,) of each document's sentences; 0 without any."""
        relevance = np.zeros(len(columns.documents))
        np.maximum.at(relevance, columns.document_of, self.of_sentences(columns, np.zeros(0), None))
        return relevance
