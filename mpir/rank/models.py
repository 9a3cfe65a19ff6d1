"""The perspectives and derived columns of a reranker: a bundle's, the caller's own, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mpir.errors import InputError
from mpir.models.options import device_names, precision_name
from mpir.perspectives import Perspective, open_bundle
from mpir.perspectives.agreement import Agreement
from mpir.perspectives.bundle import Bundle
from mpir.rank.validation import as_perspectives
from mpir.validation import optional_whole_number


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How a bundle's models are loaded; None for the default of each."""

    device: str | None = None
    precision: str | None = None
    tokens_per_batch: int | None = None
    trust_code: bool = False

    def check_unused(self) -> None:
        """Raise InputError if an option is set: perspectives without a bundle have their models already."""
        for name in ("device", "precision", "tokens_per_batch"):
            if getattr(self, name) is not None:
                raise InputError(
                    f"{name} is for a bundle's models, but perspectives are given, which have their models already; "
                    "name a bundle, or leave it out."
                )


def load_models(
    bundle: str | Path | None, perspectives: Sequence[Perspective], options: ModelOptions
) -> tuple[Bundle | None, tuple[Perspective, ...]]:
    """Return the opened bundle, if any, and its perspectives followed by the caller's.

    Raises:
        ArtefactError: the bundle is missing or damaged.
        InputError: an invalid option or perspective.
    """
    callers = as_perspectives(perspectives)
    if bundle is None and callers:
        options.check_unused()
        return None, callers
    opened = open_bundle("default" if bundle is None else bundle)
    loaded = opened.perspectives(
        device=device_names(options.device),
        precision=precision_name(options.precision),
        tokens_per_batch=optional_whole_number("tokens_per_batch", options.tokens_per_batch),
        trust_code=options.trust_code,
    )
    return opened, (*loaded, *callers)


def derived_columns(agreement: str | Literal[False] | None, bundle: Bundle | None) -> tuple[Agreement, ...]:
    """Return the agreement column that is asked for: by name, the bundle's for None, none for False."""
    if agreement is None and bundle is not None:
        agreement = bundle.agreement
    return () if agreement is None or agreement is False else (Agreement(agreement),)
