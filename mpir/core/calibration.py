"""Calibration: the probability that a reader would judge a document relevant to a question.

It is a line over the weighted sum of raw outputs (Platt, "Probabilistic outputs for support vector machines", 1999), so
it is computed from the question and the document alone: scores that depend on the candidate list, such as BM25 of a
collection, have no weight in it. With the calibration's own weights, the order of a ranking is that of its
probabilities.

Other programs get a number with the same property as a document's score, its `Relevance`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal, Self, get_args

import numpy as np

from mpir.core.blend import Blend, Lines, blend
from mpir.core.checksum import verify_checksum
from mpir.core.columns import Columns, Layout
from mpir.core.weights import Weights
from mpir.errors import ArtefactError, InputError, format_value
from mpir.types import F64, Bool
from mpir.validation import is_finite

Reading = Literal["whole", "in_part", "unread", "unreached"]
"""How far a document was read: to the end, to the first exit of a model, or not at all, because it ranks low by words
or because time did not reach it."""
SMALLEST = 1e-6
"""The lowest probability (and the highest, from 1) that is read as a logit, which is infinite at 0 and 1."""


@dataclass(frozen=True, slots=True)
class Line:
    """The log-odds of a probability as a line over a score.

    Raises:
        ArtefactError: a number that is not finite, or a slope with which a higher score is less probable.
    """

    slope: float
    intercept: float

    def __post_init__(self) -> None:
        for name in ("slope", "intercept"):
            if not is_finite(value := getattr(self, name)):
                raise ArtefactError(f"relevance: {name} is {format_value(value)}; expected a finite number.")
        if self.slope <= 0:
            raise ArtefactError(f"relevance: slope is {format_value(self.slope)}; expected a number above 0.")


@dataclass(frozen=True, slots=True)
class Calibration:
    """The weights of raw columns, and the lines over their sums, for documents and sentences by `Reading`.

    The lines of documents that were not read are over the context column (of words), which needs no model; without that
    of ``unread`` ones, all are read. `made_by` names the data and the models.

    Raises:
        ArtefactError: a line is missing, or the weights are for columns that are scaled within a query.
    """

    weights: Weights
    documents: Mapping[Reading, Line]
    sentences: Mapping[Reading, Line]
    _: KW_ONLY
    made_by: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if "whole" not in self.documents or "whole" not in self.sentences:
            raise ArtefactError('relevance: expected a line of "whole" documents and sentences.')
        readings = get_args(Reading)
        if unknown := sorted({*self.documents, *self.sentences} - {*readings}):
            raise ArtefactError(
                f"relevance: unknown reading (got {format_value(unknown[0])}, expected {' or '.join(readings)})."
            )
        if self.weights.normalise != "none":
            raise ArtefactError(
                f"relevance: the weights have normalise {self.weights.normalise}; expected none, since a probability "
                "is computed from the document alone."
            )

    @property
    def models(self) -> Mapping[str, Any]:
        """The fingerprint of the model behind each column that is read."""
        models: Mapping[str, Any] = self.made_by.get("perspectives", {})
        return models

    def is_for(self, layout: Layout) -> bool:
        """Whether a layout has all columns that are read."""
        return self.models.keys() <= {*layout.documents, *layout.sentences}

    def is_of(self, weights: Weights) -> bool:
        """Whether the weights are the calibration's own, so that a ranking is by probability."""
        return weights is self.weights or weights.fingerprint == self.weights.fingerprint

    def log_odds(self, columns: Columns, in_part: Bool, unread: Bool, unreached: Bool | None = None) -> Blend:
        """Return the blend by the calibration's own weights, on the scale of log-odds.

        The flags (D,) mark documents that were read to the first exit only, those that were not read, and among these
        those for which only time was lacking.
        """
        weights = self.weights
        if extra := [name for name in columns.layout.sentences if name not in weights.alpha]:
            weights = replace(weights, alpha={**weights.alpha, **dict.fromkeys(extra, 0.0)})
        blended = blend(columns, weights)
        of_documents = self._lines(self.documents, in_part)
        of_sentences = self._lines(self.sentences, in_part[columns.document_of])
        mapped = blended.on_lines(of_documents, of_sentences)
        if not unread.any():
            return mapped
        mapped = _with_unread(mapped, columns, unread, self.weights.context, self.documents["unread"])
        if unreached is None or "unreached" not in self.documents:
            return mapped
        return _with_unread(mapped, columns, unreached, self.weights.context, self.documents["unreached"])

    def _lines(self, lines: Mapping[Reading, Line], in_part: Bool) -> Lines:
        whole = lines["whole"]
        part = lines.get("in_part", whole)
        return Lines(np.where(in_part, part.slope, whole.slope), np.where(in_part, part.intercept, whole.intercept))

    @property
    def lines(self) -> dict[str, dict[str, dict[str, float]]]:
        """The lines as plain values, by level and `Reading`."""
        return {
            level: {reading: {"slope": line.slope, "intercept": line.intercept} for reading, line in by_reading.items()}
            for level, by_reading in (("documents", self.documents), ("sentences", self.sentences))
        }

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able dictionary; `from_dict` restores the calibration."""
        weights = replace(self.weights, made_by={}).to_dict()  # where they come from stands in the bundle's weights
        return {"weights": weights, **self.lines, "made_by": dict(self.made_by)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], source: str = "relevance") -> Self:
        """Return the calibration that `to_dict` wrote, with or without a checksum.

        Raises:
            ArtefactError: the form is wrong, or the values do not match their checksum; `source` begins the message.
        """
        values = verify_checksum(values, source)
        try:
            lines = {
                level: {reading: Line(**line) for reading, line in values[level].items()}
                for level in ("documents", "sentences")
            }
            weights = Weights.from_dict(values["weights"])
            return cls(weights, lines["documents"], lines["sentences"], made_by=dict(values.get("made_by", {})))
        except (AttributeError, InputError, KeyError, TypeError, ValueError) as error:
            raise ArtefactError(
                f"{source}: expected the lines that mpir bundle calibrate writes, got {format_value(dict(values))}; "
                "run mpir bundle calibrate again."
            ) from error
        except ArtefactError as error:
            raise ArtefactError(f"{source}: {str(error).removeprefix('relevance: ')}") from error


def ranks_unread(calibration: Calibration | None, weights: Weights, words: str | None) -> bool:
    """Whether documents that no model reads have a probability by `words` (a column) alone, on the others' scale."""
    if calibration is None or "unread" not in calibration.documents or words != weights.context:
        return False
    return calibration.is_of(weights)


def _with_unread(blended: Blend, columns: Columns, unread: Bool, context: str, line: Line) -> Blend:
    """Return a blend in which unread documents have the log-odds of one document column alone."""
    column = columns.layout.documents.index(context)
    values = columns.documents[:, column] * line.slope
    shares = np.where(unread[:, None], 0.0, blended.document_shares)
    shares[unread, column] = values[unread]
    intercepts = blended.document_intercepts
    if intercepts is not None:
        intercepts = np.where(unread, line.intercept, intercepts)
    scores = np.where(unread, values + line.intercept, blended.documents)
    return replace(blended, documents=scores, document_shares=shares, document_intercepts=intercepts)


def check_calibrated_models(calibration: Calibration, models: Mapping[str, Any], source: str) -> None:
    """Raise InputError if a column comes from another model than the one that the calibration was fitted on."""
    for name, expected in calibration.models.items():
        if name in models and models[name] != expected:
            raise InputError(
                f"{source}: the probabilities were fitted on another model for {format_value(name)} (got "
                f"{format_value(models[name])}, expected {format_value(expected)}); run mpir bundle calibrate."
            )


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

    def of_documents(self, columns: Columns, scores: F64, probabilities: F64 | None) -> F64:
        """Return the relevance (D,) of documents, from their blended scores and their probabilities, if any."""
        outputs = [declared_output(columns.document(name), scale) for name, scale in self.documents.items()]
        if self.only_models and not outputs:
            return self._of_best_sentences(columns)
        if self.only_models and len(outputs) == 1:
            return outputs[0]
        if self.of_blend or (probabilities is None and not self.only_models):
            return logistic(scores)
        if probabilities is not None and not self.only_models:
            outputs.append(probabilities)
        return outputs[0] if len(outputs) == 1 else logistic(np.mean([as_logits(v) for v in outputs], axis=0))

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
