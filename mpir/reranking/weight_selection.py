"""Select a reranker's weights, and check that they belong to its columns and models."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpir.core.calibration import Calibration, check_calibrated_models
from mpir.core.columns import Layout
from mpir.core.weights import Weights
from mpir.errors import InputError, format_names, format_value
from mpir.files.weights import read_weights
from mpir.models.bundles.bundle import Bundle
from mpir.models.perspectives import Perspective

log = logging.getLogger(__name__)
MODEL_WEIGHTS = {"zscore": 0.5, "minmax": 1.0, "none": 1.0, "untuned": 1.0}
"""The untuned weight of a model's document column, by the scaling of the other columns. 0.5 did no harm with models of
different strength (docs/evidence/models.md)."""
WeightsLike = Weights | Mapping[str, Any] | str | Path | None
"""Weights, or their dictionary, file or published name; None selects the bundle's weights, or equal ones."""


def select_weights(
    chosen: WeightsLike,
    bundle: Bundle | None,
    layout: Layout,
    *,
    added: Sequence[Perspective] = (),
    named: Sequence[Perspective] = (),
    only_named: bool = False,
    context: str | None = None,
) -> tuple[Weights, str]:
    """Return the weights for these columns, and their name in messages.

    `added` are the caller's perspectives and `named` those of models that the user names; they get a weight if `chosen`
    has none for them. With `only_named`, only the latter order documents. `context` replaces the context of the
    weights.

    Raises:
        InputError: the weights are for other columns, or there is no such file or name.
    """
    by_default = {perspective.name for perspective in added if perspective.default_weight is not None}
    weights, source = _load(chosen, bundle) or (_untuned(layout, without=by_default), "weights")
    if weights.is_untuned:
        log.warning(
            "no weights are tuned for these columns; using equal weights of scores mapped to 0-1 (mpir tune finds "
            "better ones)"
        )
    weights = _with_defaults(weights, added, untuned=chosen is None and bundle is not None)
    weights = _with_models(weights, named)
    if only_named and chosen is None:
        weights = _of_models_alone(weights, named)
    if context is not None:
        weights = replace(weights, context=context)
    return weights.align_to(layout, source), source


def select_calibration(
    bundle: Bundle | None, layout: Layout, perspectives: Sequence[Perspective], weights: Weights
) -> Calibration | None:
    """Return the bundle's calibration; None if there is none, or not all of its columns are computed.

    If these `weights` are its own, it holds them, so that nobody has to compare them again.

    Raises:
        ArtefactError: it has another form.
        InputError: it was fitted on scores of other models.
    """
    if bundle is None or not bundle.relevance:
        return None
    source = f"{bundle.folder}: relevance"
    calibration = Calibration.from_dict(bundle.relevance, source)
    models = {perspective.name: perspective.model_fingerprint for perspective in perspectives}
    check_calibrated_models(calibration, models, source)
    if not calibration.is_for(layout):
        return None
    return replace(calibration, weights=weights) if calibration.is_of(weights) else calibration


def _load(chosen: WeightsLike, bundle: Bundle | None) -> tuple[Weights, str] | None:
    """Return the caller's weights or the bundle's, and their name in messages; None if there are neither."""
    if isinstance(chosen, Weights):
        return chosen, "weights"
    if isinstance(chosen, Mapping):
        return Weights.from_dict(chosen), "weights"
    if chosen is not None:
        return read_weights(chosen), str(chosen)
    if bundle is not None and bundle.weights:
        return Weights.from_dict(bundle.weights, f"{bundle.folder}: weights"), "weights"
    return None


def _untuned(layout: Layout, *, without: Collection[str]) -> Weights:
    """Return untuned weights for all columns except those in `without`."""
    names = ([name for name in level if name not in without] for level in (layout.sentences, layout.documents))
    return Weights.untuned(*names)


def _with_defaults(weights: Weights, added: Sequence[Perspective], *, untuned: bool) -> Weights:
    """Add weights for the perspectives in `added` that the weights do not name.

    With `untuned`, a perspective without a default weight gets the mean weight of its level, because the columns of a
    bundle are on comparable scales; this is logged.
    """
    for perspective in added:
        half = "alpha" if perspective.level == "sentence" else "beta"
        named: Mapping[str, float] = getattr(weights, half)
        weight = perspective.default_weight
        if perspective.name in named or (weight is None and not untuned):
            continue
        if weight is None:
            weight = sum(map(abs, named.values())) / max(1, len(named))
            log.warning("no weight is tuned for %s; using the mean weight of its level, %.4g", perspective.name, weight)
        extended = {perspective.name: weight, **named}
        weights = replace(weights, alpha=extended) if half == "alpha" else replace(weights, beta=extended)
    return weights


def _with_models(weights: Weights, named: Sequence[Perspective]) -> Weights:
    """Add weights for the models in `named` that the weights do not name (MODEL_WEIGHTS, or the mean of sentences)."""
    added = [perspective for perspective in named if perspective.name not in {*weights.alpha, *weights.beta}]
    if any(perspective.level == "document" for perspective in added):
        weights = weights.within_query()  # a model's own scale is unknown
    document_weight = MODEL_WEIGHTS["untuned" if weights.is_untuned else weights.normalise]
    sentence_weight = sum(map(abs, weights.alpha.values())) / max(1, len(weights.alpha))
    documents = {item.name: document_weight for item in added if item.level == "document"}
    sentences = {item.name: sentence_weight for item in added if item.level == "sentence"}
    if added and not weights.is_untuned:
        log.warning(
            "no weight is tuned for %s; using %s (mpir score and mpir tune find better ones)",
            format_names([item.name for item in added]),
            " and ".join(f"{weight:.4g}" for weight in {*documents.values(), *sentences.values()}),
        )
    return replace(weights, alpha={**sentences, **weights.alpha}, beta={**weights.beta, **documents})


def _of_models_alone(weights: Weights, named: Sequence[Perspective]) -> Weights:
    """Return weights with which only `named` order documents; other columns order sentences.

    S_DOC is the output of one model, and the sum of the z-scores of several.
    """
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
        normalise="none" if len(documents) == 1 else "zscore",
    )


def check_models(weights: Weights, source: str, perspectives: Sequence[Perspective]) -> None:
    """Check that tuned weights belong to these models.

    Raises:
        InputError: they were tuned on scores of other models.
    """
    tuned = weights.made_by.get("perspectives", {})
    for perspective in perspectives:
        _check_same(tuned.get(perspective.name), perspective.model_fingerprint, perspective.name, source)


def _check_same(expected: object, actual: object, name: str, source: str) -> None:
    if expected not in (None, actual):
        raise InputError(
            f"{source}: the weights were tuned with another model for {format_value(name)} (got "
            f"{format_value(actual)}, expected {format_value(expected)}); use the bundle's own weights, or tune again."
        )
