"""Calibration: the monotone map from a blended score to the probability that `relevance_score` reports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from mpir.core.checksum import verify_checksum
from mpir.errors import ArtefactError, format_value
from mpir.validation import is_finite


@dataclass(frozen=True, slots=True)
class Logistic:
    """Platt's map, 1 / (1 + exp(-(slope·score + intercept))) in float64: strictly increasing for a positive slope."""

    slope: float = 1.0
    intercept: float = 0.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not is_finite(value):
                raise ArtefactError(f"relevance: {name} is {format_value(value)}; expected a finite number.")
        if self.slope <= 0:
            raise ArtefactError(f"relevance: slope is {self.slope}; expected a number above 0, which keeps the order.")

    def __call__(self, score: float) -> float:
        """Return the probability of a score."""
        logit = self.slope * score + self.intercept
        small = math.exp(-abs(logit))
        return 1 / (1 + small) if logit >= 0 else small / (1 + small)


@dataclass(frozen=True, slots=True)
class Relevance:
    """The maps of S_DOC and of S_SENT to [0, 1]; `made_by` names the data they were fitted on.

    A bundle without fitted maps uses the plain logistic of the blended score: monotone and in [0, 1], but not
    calibrated, so that 0.5 has no meaning.
    """

    document: Logistic = Logistic()
    sentence: Logistic = Logistic()
    made_by: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fitted(self) -> bool:
        """Whether the maps were fitted on judged questions."""
        return bool(self.made_by)

    def fits(self, weights_fingerprint: str) -> bool:
        """Whether the maps were fitted to scores blended with the weights of this fingerprint."""
        return self.made_by.get("weights") == weights_fingerprint

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able dictionary; `from_dict` restores the maps."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], source: str = "relevance") -> Relevance:
        """Return the maps that `to_dict` wrote, with or without a checksum.

        Raises:
            ArtefactError: the form is wrong, or the values do not match their checksum; `source` begins the message.
        """
        values = verify_checksum(values, source)
        form = "expected document and sentence, each with slope and intercept, and made_by"
        if unknown := sorted(set(values) - {item.name for item in fields(cls)}):
            raise ArtefactError(f"{source}: unknown key {format_value(unknown[0])}; {form}.")
        try:
            maps = {name: Logistic(**values[name]) for name in ("document", "sentence")}
            return cls(**maps, made_by=dict(values.get("made_by", {})))
        except (KeyError, TypeError, ValueError) as error:
            raise ArtefactError(f"{source}: {form}, got {format_value(dict(values))}.") from error
        except ArtefactError as error:
            raise ArtefactError(f"{source}: {str(error).removeprefix('relevance: ')}") from error
