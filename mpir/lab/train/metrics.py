"""Metrics of a perspective on its dev rows, to which losses refer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import pearsonr, spearmanr

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
