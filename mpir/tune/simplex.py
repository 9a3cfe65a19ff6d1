"""Map coordinates in the unit cube to weights that add up to 1, with one point for each mixture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mpir.errors import InputError, format_names
from mpir.types import F64


@dataclass(frozen=True, slots=True)
class Simplex:
    """K shares ≥ 0 that add up to 1, each within bounds, from K − 1 coordinates by stick-breaking.

    Without bounds, uniform coordinates give uniform mixtures (Devroye 1986, V.2).

    Raises:
        InputError: invalid bounds, or bounds that no mixture can meet.
    """

    names: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of(cls, names: tuple[str, ...], bounds: Mapping[str, tuple[float, float]]) -> Simplex:
        """Make the simplex of these names; names without bounds may have any share."""
        pairs = [bounds.get(name, (0.0, 1.0)) for name in names]
        return cls(names, tuple(low for low, _ in pairs), tuple(high for _, high in pairs))

    def __post_init__(self) -> None:
        for name, low, high in zip(self.names, self.low, self.high, strict=True):
            if not 0 <= low <= high <= 1:
                raise InputError(
                    f"bounds of {name}: {low} to {high} is no range of shares; expected 0 ≤ low ≤ high ≤ 1."
                )
        if sum(self.low) > 1 + 1e-9 or sum(self.high) < 1 - 1e-9:
            raise InputError(
                f"bounds of {format_names(self.names)}: the shares would add up to {sum(self.low):g} at least and "
                f"{sum(self.high):g} at most, but they must add up to 1; widen the bounds."
            )

    @property
    def dimensions(self) -> int:
        """The number of coordinates: one fewer than shares."""
        return len(self.names) - 1

    def shares(self, coordinates: F64) -> F64:
        """Return shares (K,) for coordinates (K − 1,) in 0-1."""
        shares, remainder = np.zeros(len(self.names)), 1.0
        for number, coordinate in enumerate(coordinates):
            low, high = self._range(number, remainder)
            piece = 1 - (1 - coordinate) ** (1 / (len(coordinates) - number))
            shares[number] = low + piece * (high - low)
            remainder -= shares[number]
        shares[-1] = max(remainder, 0.0)
        return shares

    def coordinates(self, shares: F64) -> F64:
        """Return coordinates (K − 1,) for shares (K,); shares outside the bounds are clipped one after the other."""
        coordinates, remainder = np.zeros(self.dimensions), 1.0
        for number in range(self.dimensions):
            low, high = self._range(number, remainder)
            share = min(max(shares[number], low), high)
            piece = (share - low) / (high - low) if high > low else 0.0
            coordinates[number] = 1 - (1 - piece) ** (self.dimensions - number)
            remainder -= share
        return coordinates

    def _range(self, number: int, remainder: float) -> tuple[float, float]:
        """Return the bounds of a share, given the remaining stick and the bounds of later shares."""
        low = max(self.low[number], remainder - sum(self.high[number + 1 :]))
        high = min(self.high[number], remainder - sum(self.low[number + 1 :]))
        return low, max(low, high)
