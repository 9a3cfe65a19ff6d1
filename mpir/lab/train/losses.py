"""Losses as values: a loss with the properties of the training that depend on it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from torch import Tensor

from mpir.errors import InputError, format_value
from mpir.lab.train import loss_functions as functions
from mpir.lab.train.metrics import Metric, mean_average_precision, pearson, pearson_of_cosines, spearman


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


_MAP, _COSINES = mean_average_precision, (("temperature", 0.05),)
_two_tower = partial(Loss, scale="cosine", metric=_MAP, two_tower=True)
LOSSES = {
    loss.name: loss
    for loss in (
        Loss(name="bce", function=functions.binary_cross_entropy, scale="probability", metric=_MAP, top=1.0),
        Loss(name="listwise", function=functions.listwise_softmax, scale="probability", metric=_MAP, ranking=True),
        Loss(name="pairwise", function=functions.pairwise_logistic, scale="probability", metric=_MAP, ranking=True),
        Loss(name="lambda", function=functions.lambda_rank, scale="probability", metric=_MAP, ranking=True),
        Loss(
            name="margin-mse", function=functions.margin_squared_error, scale="probability", metric=_MAP, distilled=True
        ),
        Loss(name="kl", function=functions.divergence, scale="probability", metric=_MAP, distilled=True),
        Loss(
            name="teacher-mse", function=functions.teacher_squared_error, scale="logit", metric=spearman, distilled=True
        ),
        Loss(
            name="mse5", function=partial(functions.scaled_squared_error, top=5.0), scale="0-5", metric=pearson, top=5.0
        ),
        Loss(
            name="mse4",
            function=partial(functions.scaled_squared_error, top=4.0),
            scale="0-4",
            metric=spearman,
            top=4.0,
        ),
        Loss(
            name="cosine5",
            function=partial(functions.cosine_squared_error, top=5.0),
            scale="0-5",
            metric=pearson_of_cosines,
            top=5.0,
            two_tower=True,
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
