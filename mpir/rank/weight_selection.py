"""Which weights a reranker blends with, and whether they belong to its columns and models."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpir.errors import InputError, format_names, format_value
from mpir.perspectives import Perspective
from mpir.perspectives.agreement import Agreement
from mpir.perspectives.base import Derived
from mpir.perspectives.bundle import Bundle
from mpir.rank.calibration import Relevance
from mpir.rank.columns import Layout
from mpir.rank.weights import Weights

log = logging.getLogger(__name__)
MODEL_WEIGHTS = {"zscore": 0.5, "minmax": 1.0, "none": 1.0, "untuned": 1.0}
"""The weight of a model's document column that nothing was tuned for, by how the other columns are scaled: 0.5 did no
harm with models of different strength (docs/evidence/models.md)."""
WeightsLike = Weights | Mapping[str, Any] | str | Path | None
"""Weights, or a dictionary, a file or a published name of them; None for the bundle's, or equal ones."""


def select_weights(
    chosen: WeightsLike,
    bundle: Bundle | None,
    layout: Layout,
    *,
    added: Sequence[Perspective] = (),
    named: Sequence[Perspective] = (),
    only_named: bool = False,
    context: str | None = None,
    without_agreement: bool = False,
) -> tuple[Weights, str]:
    """Return the weights for these columns, and their name in messages.

    `added` are the caller's perspectives, and `named` those of the models that the user names, which the weights need
    not name; with `only_named` the latter alone order documents. `context` replaces the weights' own, and
    `without_agreement` drops the weight of that column.

    Raises:
        InputError: weights for other columns, or no such file or name.
    """
    weights, source = _load(chosen, bundle) or (_untuned(layout, without=_weighted_by_default(added)), "weights")
    if weights.is_untuned:
        log.warning("nothing is tuned for these columns; equal weights of scores mapped to 0-1 are used (mpir tune)")
    if without_agreement:
        weights = replace(weights, alpha={k: value for k, value in weights.alpha.items() if k != Agreement.name})
    weights = _with_defaults(weights, added, untuned=chosen is None and bundle is not None)
    weights = _with_models(weights, named)
    if only_named and chosen is None:
        weights = _of_models_alone(weights, named)
    if context is not None:
        weights = replace(weights, context=context)
    return weights.align_to(layout, source), source


def select_calibration(bundle: Bundle | None, weights: Weights) -> Relevance:
    """Return the bundle's maps to probabilities if they were fitted with these weights; else plain logistic curves."""
    if bundle is None or not bundle.relevance:
        return Relevance()
    calibration = Relevance.from_dict(bundle.relevance, f"{bundle.folder}: relevance")
    return calibration if calibration.fits(weights.fingerprint) else Relevance()


def _load(chosen: WeightsLike, bundle: Bundle | None) -> tuple[Weights, str] | None:
    """Return the caller's weights or the bundle's, and their name; None where equal ones are to be made."""
    if isinstance(chosen, Weights):
        return chosen, "weights"
    if isinstance(chosen, Mapping):
        return Weights.from_dict(chosen), "weights"
    if chosen is not None:
        return Weights.load(chosen), str(chosen)
    if bundle is not None and bundle.weights:
        return Weights.from_dict(bundle.weights, f"{bundle.folder}: weights"), "weights"
    return None


def _weighted_by_default(perspectives: Sequence[Perspective]) -> set[str]:
    return {perspective.name for perspective in perspectives if perspective.default_weight is not None}


def _untuned(layout: Layout, *, without: Collection[str]) -> Weights:
    """Return untuned weights of all columns but some."""
    names = ([name for name in level if name not in without] for level in (layout.sentences, layout.documents))
    return Weights.untuned(*names)


def _with_defaults(weights: Weights, added: Sequence[Perspective], *, untuned: bool) -> Weights:
    """Return the weights with those of added perspectives that they do not name.

    `untuned` gives perspectives without a default weight the mean of their level's, as the columns of a bundle are on
    comparable scales, and logs it.
    """
    for perspective in added:
        half = "alpha" if perspective.level == "sentence" else "beta"
        named: Mapping[str, float] = getattr(weights, half)
        weight = perspective.default_weight
        if perspective.name in named or (weight is None and not untuned):
            continue
        if weight is None:
            weight = sum(map(abs, named.values())) / max(1, len(named))
            log.warning("no weight is tuned for %s; it has the mean of its level, %.4g", perspective.name, weight)
        extended = {perspective.name: weight, **named}
        weights = replace(weights, alpha=extended) if half == "alpha" else replace(weights, beta=extended)
    return weights


def _with_models(weights: Weights, named: Sequence[Perspective]) -> Weights:
    """Return the weights with those of models that they do not name: MODEL_WEIGHTS, on the scale of the others."""
    added = [perspective for perspective in named if perspective.name not in {*weights.alpha, *weights.beta}]
    document_weight = MODEL_WEIGHTS["untuned" if weights.is_untuned else weights.normalise]
    sentence_weight = sum(map(abs, weights.alpha.values())) / max(1, len(weights.alpha))
    documents = {item.name: document_weight for item in added if item.level == "document"}
    sentences = {item.name: sentence_weight for item in added if item.level == "sentence"}
    if added and not weights.is_untuned:
        log.warning(
            "no weight is tuned for %s; %s used (mpir score and mpir tune find better ones)",
            format_names([item.name for item in added]),
            " and ".join(f"{weight:.4g} is" for weight in {*documents.values(), *sentences.values()}),
        )
    return replace(weights, alpha={**sentences, **weights.alpha}, beta={**weights.beta, **documents})


def _of_models_alone(weights: Weights, named: Sequence[Perspective]) -> Weights:
    """Return weights by which the models alone order documents, each by its z-scores, and the rest only sentences."""
    documents = [perspective.name for perspective in named if perspective.level == "document"]
    if not documents:
        return replace(weights, alpha_context=0.0, beta=dict.fromkeys(weights.beta, 0.0), beta_sentences=1.0)
    beta = dict.fromkeys(documents, 1.0)
    return replace(
        weights,
        alpha_context=0.0,
        beta=beta,
        beta_sentences=0.0,
        context="document",
        normalise="zscore",
        sentence_list_beta=None,
    )


def check_models(
    weights: Weights, source: str, perspectives: Sequence[Perspective], derived: Sequence[Derived]
) -> None:
    """Tuned weights belong to the models, and to the derived columns, whose scores they were tuned on.

    Raises:
        InputError: they were tuned on others.
    """
    tuned, tuned_derived = weights.made_by.get("perspectives", {}), weights.made_by.get("derived", {})
    for perspective in perspectives:
        _check_same(tuned.get(perspective.name), perspective.model_fingerprint, perspective.name, source)
    for column in derived:
        expected = tuned_derived.get(column.name)
        if weights.alpha.get(column.name):
            _check_same(expected, dict(column.identity), column.name, source)


def _check_same(expected: object, actual: object, name: str, source: str) -> None:
    if expected not in (None, actual):
        raise InputError(
            f"{source}: the weights were tuned on another model of {format_value(name)} ({format_value(expected)}, "
            f"here {format_value(actual)}); use the bundle's own weights, or tune again."
        )
