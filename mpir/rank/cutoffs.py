"""How many of a query's ranked documents and snippets to submit: cut-offs as values, stored beside the weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np

from mpir.corpora.submission import SUBMISSION_LIMIT
from mpir.errors import InputError, format_names, format_value
from mpir.rank.calibration import Logistic, Relevance
from mpir.types import F64, Bool
from mpir.validation import real_number, whole_number

FIRST_CUT = 9
"""The version of BioASQ's measures from which on submissions are cut: its rounds rank snippets by their mean F."""
_TOLERANCE = 1e-9
"""Sums that are equal on paper may differ in their last bits; the best candidate always reaches a share of 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutoff:
    """Which of a query's ranked candidates are submitted: `minimum` in any case, `maximum` at most.

    Between these, a candidate is submitted where it reaches every threshold that is not None: `score`, its blended
    score; `share`, its position between the query's lowest score (0) and its best (1); `probability`, its score by the
    bundle's fitted map (rank/calibration.py). Without thresholds the `maximum` best are submitted.

    Raises:
        InputError: a minimum below 1, so that nothing might be submitted, a maximum below it or above 10, or a
            threshold that no score can reach.
    """

    minimum: int = 1
    maximum: int = SUBMISSION_LIMIT
    score: float | None = None
    share: float | None = None
    probability: float | None = None

    def __post_init__(self) -> None:
        whole_number("cut-off: minimum", self.minimum, maximum=SUBMISSION_LIMIT)
        whole_number("cut-off: maximum", self.maximum, minimum=self.minimum, maximum=SUBMISSION_LIMIT)
        if self.score is not None:
            real_number("cut-off: score", self.score, "a finite number")
        if self.share is not None:
            real_number("cut-off: share", self.share, "a number from 0 to 1", lambda value: 0 <= value <= 1)
        if self.probability is not None:
            expected = "a number between 0 and 1"
            real_number("cut-off: probability", self.probability, expected, lambda value: 0 < value < 1)

    def threshold(self, best: F64, lowest: F64) -> F64:
        """The least score (Q,) that is submitted, given the best and the lowest score (Q,) of each query.

        Raises:
            InputError: a probability, which `resolved` turns into a score.
        """
        if self.probability is not None:
            raise InputError(
                f"cut-off: probability {self.probability:g} needs the bundle's fitted map, which is not at hand here "
                "(expected a share or a score)."
            )
        limits = np.full(len(best), -np.inf if self.score is None else float(self.score))
        if self.share is not None:
            limits = np.maximum(limits, lowest + self.share * (best - lowest) - _TOLERANCE)
        return limits

    def passing(self, ranked: F64, lowest: F64) -> Bool:
        """Which of the best scores (Q, K), best first and -inf where there are no more, reach the thresholds."""
        if not ranked.shape[1]:
            return np.zeros(ranked.shape, bool)
        best = np.where(np.isfinite(ranked[:, 0]), ranked[:, 0], 0.0)
        passing: Bool = (ranked >= self.threshold(best, lowest)[:, None]) & (ranked > -np.inf)
        return passing

    def submitted(self, ranked: F64, lowest: F64) -> Bool:
        """`passing` within `minimum` and `maximum`: which of the best scores (Q, K) are submitted."""
        ranks = np.arange(ranked.shape[1])
        submitted: Bool = self.passing(ranked, lowest) | (ranks < self.minimum)
        return submitted & (ranks < self.maximum) & (ranked > -np.inf)

    def resolved(self, curve: Logistic) -> Self:
        """The same cut-off with the score of the probability in its place."""
        if self.probability is None:
            return self
        logit = math.log(self.probability / (1 - self.probability))
        score = (logit - curve.intercept) / curve.slope
        return replace(self, probability=None, score=score if self.score is None else max(score, self.score))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary without the thresholds that are None."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], noun: str = "cut-off") -> Self:
        """The cut-off of what `to_dict` gave. Raises InputError for another form; `noun` begins the message."""
        _check_keys(values, {item.name for item in fields(cls)}, noun)
        return cls(**values)

    def __str__(self) -> str:
        return ",".join(f"{name}={value:g}" for name, value in self.to_dict().items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutoffs:
    """The cut-offs of documents and of snippets.

    Snippets come from the documents that are submitted.
    """

    documents: Cutoff = field(default_factory=Cutoff)
    snippets: Cutoff = field(default_factory=Cutoff)

    def resolved(self, relevance: Relevance) -> Self:
        """The same cut-offs with scores in place of probabilities.

        Raises:
            InputError: a probability, and maps that were not fitted to these weights.
        """
        if {self.documents.probability, self.snippets.probability} != {None} and not relevance.fitted:
            raise InputError(
                "a cut-off by probability needs a bundle that is calibrated for its weights; run `mpir bundle "
                "calibrate`, or cut by share."
            )
        return replace(
            self,
            documents=self.documents.resolved(relevance.document),
            snippets=self.snippets.resolved(relevance.sentence),
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary; `from_dict` gives the same cut-offs back."""
        return {"documents": self.documents.to_dict(), "snippets": self.snippets.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Cutoffs:
        """The cut-offs of what `to_dict` gave. Raises InputError for another form."""
        _check_keys(values, {item.name for item in fields(cls)}, "cut-offs")
        return cls(**{level: Cutoff.from_dict(cutoff, f"cut-off of {level}") for level, cutoff in values.items()})


TEN_EACH = Cutoffs()
"""Ten documents and ten snippets for every question, the most that BioASQ takes."""


def _check_keys(values: Any, known: set[str], noun: str) -> None:
    """Raise InputError unless a value is an object of known keys."""
    if not isinstance(values, Mapping):
        raise InputError(f"{noun}: {format_value(values)} (expected an object with {format_names(sorted(known))}).")
    if unknown := sorted(set(map(str, values)) - known):
        raise InputError(f"{noun}: unknown key {format_value(unknown[0])}; expected {format_names(sorted(known))}.")


def parse_cutoff(text: str) -> Cutoff:
    """The cut-off that an option such as ``10``, ``share=0.6`` or ``share=0.6,minimum=2,maximum=8`` names.

    Raises:
        InputError: another form, or a value that a cut-off refuses.
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
