"""Which weights a reranker blends with, and whether they belong to its columns and models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpir.errors import InputError, format_value
from mpir.perspectives import Perspective
from mpir.perspectives.agreement import Agreement
from mpir.perspectives.base import Derived
from mpir.rank.columns import Layout
from mpir.rank.weights import Weights

Given = Weights | Mapping[str, Any] | str | Path | None
"""Weights, or a dictionary, a file or a published name of them; None for equal ones."""


def choose_weights(
    given: Given,
    layout: Layout,
    *,
    context: str | None = None,
    beside: Sequence[tuple[Perspective, float]] = (),
    without_agreement: bool = False,
) -> tuple[Weights, str]:
    """The weights for these columns, and what to call them in a message.

    `context` overrides their own, `beside` has weights of columns that they need not name (and that equal ones leave to
    it), and `without_agreement` leaves that one out.

    Raises:
        InputError: weights for other columns, or no such file or name.
    """
    source = "weights" if isinstance(given, Weights | Mapping | None) else str(given)
    chosen = _equal(layout, {one.name for one, _ in beside}) if given is None else given
    if isinstance(chosen, Mapping):
        chosen = Weights.from_dict(chosen)
    chosen = chosen if isinstance(chosen, Weights) else Weights.load(chosen)
    if without_agreement:
        kept = {name: one for name, one in chosen.alpha.items() if name != Agreement.name}
        chosen = replace(chosen, alpha=kept)
    for one, weight in beside:
        if one.level == "sentence":
            chosen = replace(chosen, alpha={one.name: weight, **chosen.alpha})
        else:
            chosen = replace(chosen, beta={one.name: weight, **chosen.beta})
    if context is not None:
        chosen = replace(chosen, context=context)
    return chosen.over(layout, source), source


def _equal(layout: Layout, but: Collection[str]) -> Weights:
    """Equal weights of the columns, but some."""
    sentences, documents = ([n for n in names if n not in but] for names in (layout.sentences, layout.documents))
    return Weights.equal(sentences, documents)


def check_models(
    weights: Weights, source: str, perspectives: Sequence[Perspective], derived: Sequence[Derived]
) -> None:
    """Tuned weights belong to the models, and to the derived columns, whose scores they were tuned on.

    Raises:
        InputError: they were tuned on others.
    """
    tuned, rests = weights.made_by.get("perspectives", {}), weights.made_by.get("derived", {})
    for one in perspectives:
        _check_same(tuned.get(one.name), one.model_fingerprint, one.name, source)
    for column in derived:
        expected = rests.get(column.name, weights.made_by.get(column.name))  # as it was once kept
        if weights.alpha.get(column.name):
            _check_same(expected, dict(column.identity), column.name, source)


def _check_same(expected: object, here: object, name: str, source: str) -> None:
    if expected not in (None, here):
        raise InputError(
            f"{source}: the weights were tuned on another model of {format_value(name)} ({format_value(expected)}, "
            "here "
            f"{format_value(here)}); use the bundle's own weights, or tune again."
        )
