"""Losses as values, with the properties of the training that depend on them, and metrics of rows on dev."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import pearsonr, spearmanr
from torch import Tensor

from mpir.errors import InputError, format_value
from mpir.lab.train import loss_functions as functions

if TYPE_CHECKING:
    from mpir.lab.train.examples import Example


Metric = Callable[["list[Example]", np.ndarray[Any, Any]], float]
"""A function of N dev rows and their values (N,)."""


def mean_average_precision(rows: list[Example], values: np.ndarray[Any, Any]) -> float:
    """Mean average precision of the rows ranked by value, over questions with a positive."""
    groups: dict[str, list[tuple[float, bool]]] = {}
    for row, value in zip(rows, values, strict=True):
        groups.setdefault(row.group, []).append((-float(value), row.label > 0))
    precisions = [_average_precision([hit for _, hit in sorted(group)]) for group in groups.values()]
    defined = [value for value in precisions if value is not None]
    return float(np.mean(defined)) if defined else 0.0


def _average_precision(hits: list[bool]) -> float | None:
    ranks = np.flatnonzero(hits) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks)) if len(ranks) else None


def f1_score(rows: list[Example], values: np.ndarray[Any, Any]) -> float:
    """F1 of the rows whose probability is above 0.5, that is whose raw value is above 0; 0 where none is right."""
    positive, predicted = np.array([row.label > 0 for row in rows]), values > 0
    return float(2 * np.sum(positive & predicted) / max(1, np.sum(positive) + np.sum(predicted)))


def pair_figures(groups: Sequence[str], labels: np.ndarray[Any, Any], scores: np.ndarray[Any, Any]) -> dict[str, float]:
    """Over pairs of rows of one group with different labels: the share in the right order, and the mean score margin.

    `accuracy` counts a tie as half. Without such a pair there are no figures.
    """
    names = np.array(groups)
    first, second = np.nonzero((names[:, None] == names) & (labels[:, None] > labels))
    if not first.size:
        return {}
    margins = scores[first] - scores[second]
    accuracy = float(np.mean((margins > 0) + 0.5 * (margins == 0)))
    return {"accuracy": round(accuracy, 4), "margin": round(float(margins.mean()), 4)}


def pearson(rows: list[Example], values: np.ndarray[Any, Any]) -> float:
    """Pearson's correlation of the sigmoid of the values with the labels; 0 where either is constant."""
    return _correlation(pearsonr, 1 / (1 + np.exp(-values)), rows)


def pearson_of_cosines(rows: list[Example], values: np.ndarray[Any, Any]) -> float:
    """Pearson's correlation of the values themselves with the labels; 0 where either is constant."""
    return _correlation(pearsonr, values, rows)


def spearman(rows: list[Example], values: np.ndarray[Any, Any]) -> float:
    """Spearman's rank correlation of values and labels; 0 where either is constant."""
    return _correlation(spearmanr, values, rows)


def _correlation(measure: Callable[..., Any], values: np.ndarray[Any, Any], rows: list[Example]) -> float:
    labels = np.array([row.label for row in rows])
    return float(measure(values, labels)[0]) if np.ptp(values) and np.ptp(labels) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A loss: its function, its targets, the way texts are read, and the metric of its scores.

    Attributes:
        name: its name in a mixture.
        function: takes scores, targets and mask (questions, candidates), and the parameters; see loss_functions.py.
        scale: the scale of the trained perspective.
        metric: the metric on dev rows.
        top: the highest label.
        apart: whether question and sentence are encoded separately, for the product of their vectors, or together.
        distilled: whether targets are a teacher's raw outputs instead of labels.
        ranking: whether each question needs rows with and without a positive label.
        in_batch: whether all texts of a batch are candidates of each question, instead of the question's own rows.
        parameters: (name, value) pairs that a mixture may set, as in ``triplet(margin=0.2)``.
    """

    name: str
    function: Callable[..., Tensor]
    scale: str
    metric: Metric
    top: float = math.inf
    two_tower: bool = False
    distilled: bool = False
    ranking: bool = False
    in_batch: bool = False
    parameters: tuple[tuple[str, float], ...] = ()

    def __call__(self, scores: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
        """Return the loss of one batch from scores, targets and mask, all (Q, C)."""
        return self.function(scores, targets, mask, **dict(self.parameters))

    def __str__(self) -> str:
        usual = LOSSES[self.name].parameters if self.name in LOSSES else ()
        changed = ", ".join(f"{name}={value:g}" for name, value in self.parameters if (name, value) not in usual)
        return f"{self.name}({changed})" if changed else self.name


_COSINES = (("temperature", 0.05),)
_reader = partial(Loss, scale="probability", metric=mean_average_precision)
_two_tower = partial(Loss, scale="cosine", metric=mean_average_precision, two_tower=True)
_SQUARED, _COSINES_SQUARED = functions.scaled_squared_error, functions.cosine_squared_error
LOSSES = {
    loss.name: loss
    for loss in (
        _reader(name="bce", function=functions.binary_cross_entropy, top=1.0),
        _reader(name="listwise", function=functions.listwise_softmax, ranking=True),
        _reader(name="pairwise", function=functions.pairwise_logistic, ranking=True),
        _reader(name="lambda", function=functions.lambda_rank, ranking=True),
        _reader(name="margin-mse", function=functions.margin_squared_error, distilled=True),
        _reader(name="kl", function=functions.divergence, distilled=True),
        Loss(
            name="teacher-mse", function=functions.teacher_squared_error, scale="logit", metric=spearman, distilled=True
        ),
        Loss(name="mse5", function=partial(_SQUARED, top=5.0), scale="0-5", metric=pearson, top=5.0),
        Loss(name="mse4", function=partial(_SQUARED, top=4.0), scale="0-4", metric=spearman, top=4.0),
        _two_tower(
            name="cosine5", function=partial(_COSINES_SQUARED, top=5.0), scale="0-5", metric=pearson_of_cosines, top=5.0
        ),
        _two_tower(name="triplet", function=functions.triplet_margin, ranking=True, parameters=(("margin", 1.0),)),
        _two_tower(name="ranknet", function=functions.pairwise_logistic, ranking=True, parameters=_COSINES),
        _two_tower(name="softmax", function=functions.listwise_softmax, ranking=True, parameters=_COSINES),
        _two_tower(name="in-batch", function=functions.listwise_softmax, in_batch=True, parameters=_COSINES),
        _two_tower(
            name="apart-margin-mse", function=functions.margin_squared_error, distilled=True, parameters=_COSINES
        ),
        _two_tower(name="apart-kl", function=functions.divergence, distilled=True, parameters=_COSINES),
    )
}
"""All losses by name. A temperature divides the scores: 0.05 suits cosines, 1 products of longer vectors."""


def loss_named(text: str) -> Loss:
    """Parse a loss such as ``bce`` or ``triplet(margin=0.2)``, which is also the `str` of a loss.

    Raises:
        InputError: no such loss or parameter, or a parameter that is not a number above 0.
    """
    match = re.fullmatch(r"([a-z0-9-]+)(?:\((.*)\))?", str(text).strip())
    if not match or match[1] not in LOSSES:
        raise InputError(f"the loss is {format_value(text)}; choose from {', '.join(LOSSES)}.")
    loss = LOSSES[match[1]]
    values = dict(loss.parameters)
    for argument in filter(None, (argument.strip() for argument in (match[2] or "").split(","))):
        name, _, value = (piece.strip() for piece in argument.partition("="))
        if name not in values:
            raise InputError(
                f"loss {format_value(text)}: no parameter {format_value(name)}; {loss.name} has "
                f"{', '.join(values) or 'none'}."
            )
        if not re.fullmatch(r"\d*\.?\d+(e-?\d+)?", value) or not 0 < float(value) < math.inf:
            raise InputError(f"loss {format_value(text)}: {name} is {format_value(value)}; expected a number above 0.")
        values[name] = float(value)
    return replace(loss, parameters=tuple(values.items()))
