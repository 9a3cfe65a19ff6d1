"""Cut-offs: how many of a query's ranked documents and snippets to submit. They are stored with the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np

from mpir.errors import InputError, format_names, format_value
from mpir.types import F64, Bool
from mpir.validation import real_number, whole_number

SUBMISSION_LIMIT = 10
"""Maximum number of documents, and of snippets, per question: BioASQ's for Phase A."""
_TOLERANCE = 1e-9
"""Tolerance for rounding: mathematically equal sums may differ in the last bits, but the best must reach share 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutoff:
    """A rule for which of a query's ranked candidates to submit: at least `minimum` and at most `maximum`.

    Between these, a candidate is submitted if it reaches every threshold that is not None: `score`, its blended score;
    `share`, its position between the query's lowest score (0) and best score (1). Without thresholds the best `maximum`
    candidates are submitted.

    Raises:
        InputError: the minimum is below 1, so that nothing might be submitted; the maximum is below the minimum or
            above 10; or no score can reach a threshold.
    """

    minimum: int = 1
    maximum: int = SUBMISSION_LIMIT
    score: float | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        whole_number("cut-off: minimum", self.minimum, maximum=SUBMISSION_LIMIT)
        whole_number("cut-off: maximum", self.maximum, minimum=self.minimum, maximum=SUBMISSION_LIMIT)
        if self.score is not None:
            real_number("cut-off: score", self.score, "a finite number")
        if self.share is not None:
            real_number("cut-off: share", self.share, "a number from 0 to 1", lambda value: 0 <= value <= 1)

    def threshold(self, best: F64, lowest: F64) -> F64:
        """Return the lowest score (Q,) to submit, given the best and the lowest score (Q,) of each query."""
        limits = np.full(len(best), -np.inf if self.score is None else float(self.score))
        if self.share is not None:
            limits = np.maximum(limits, lowest + self.share * (best - lowest) - _TOLERANCE)
        return limits

    def passing(self, ranked: F64, lowest: F64) -> Bool:
        """Return a mask of the scores that reach the thresholds; `ranked` (Q, K) is best first, padded with -inf."""
        if not ranked.shape[1]:
            return np.zeros(ranked.shape, bool)
        best = np.where(np.isfinite(ranked[:, 0]), ranked[:, 0], 0.0)
        passing: Bool = (ranked >= self.threshold(best, lowest)[:, None]) & (ranked > -np.inf)
        return passing

    def submitted(self, ranked: F64, lowest: F64) -> Bool:
        """Return a mask of the scores (Q, K) to submit: `passing`, limited by `minimum` and `maximum`."""
        ranks = np.arange(ranked.shape[1])
        submitted: Bool = self.passing(ranked, lowest) | (ranks < self.minimum)
        return submitted & (ranks < self.maximum) & (ranked > -np.inf)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able dictionary without the thresholds that are None."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], noun: str = "cut-off") -> Self:
        """Return the cut-off that `to_dict` wrote. Raises InputError for another form; `noun` begins the message."""
        _check_keys(values, {item.name for item in fields(cls)}, noun)
        return cls(**values)

    def __str__(self) -> str:
        return ",".join(f"{name}={value:g}" for name, value in self.to_dict().items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutoffs:
    """The cut-offs of documents and of snippets.

    Snippets come from submitted documents only.
    """

    documents: Cutoff = field(default_factory=Cutoff)
    snippets: Cutoff = field(default_factory=Cutoff)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able dictionary; `from_dict` restores the cut-offs."""
        return {"documents": self.documents.to_dict(), "snippets": self.snippets.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Cutoffs:
        """Return the cut-offs that `to_dict` wrote. Raises InputError for another form."""
        _check_keys(values, {item.name for item in fields(cls)}, "cut-offs")
        return cls(**{level: Cutoff.from_dict(cutoff, f"cut-off of {level}") for level, cutoff in values.items()})


TEN_EACH = Cutoffs()
"""Ten documents and ten snippets for every question, the maximum that BioASQ accepts."""


def _check_keys(values: Any, known: set[str], noun: str) -> None:
    """Raise InputError unless a value is an object with known keys only."""
    if not isinstance(values, Mapping):
        raise InputError(f"{noun}: {format_value(values)} (expected an object with {format_names(sorted(known))}).")
    if unknown := sorted(set(map(str, values)) - known):
        raise InputError(f"{noun}: unknown key {format_value(unknown[0])}; expected {format_names(sorted(known))}.")


def parse_cutoff(text: str) -> Cutoff:
    """Parse the value of a cut-off option, such as ``10``, ``share=0.6`` or ``share=0.6,minimum=2,maximum=8``.

    Raises:
        InputError: the form or a value is invalid.
    """
    if text.isdecimal():
        return Cutoff(maximum=int(text))
    values: dict[str, Any] = {}
    for item in text.split(","):
        name, _, number = item.partition("=")
        try:
            values[name.strip()] = int(number) if name.strip() in ("minimum", "maximum") else float(number)
        except ValueError:
            raise InputError(
                f"cut-off {format_value(text)}: invalid entry {format_value(item)} (expected a number such as 10, or "
                "NAME=NUMBER with commas between, as in share=0.6,maximum=8)."
            ) from None
    return Cutoff.from_dict(values)
