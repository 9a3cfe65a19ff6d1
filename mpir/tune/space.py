"""The search space of weights: two mixtures, α and β/w, in units that make columns comparable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mpir.core.blend import scaled
from mpir.core.columns import Columns
from mpir.core.cutoffs import SUBMISSION_LIMIT, Cutoff, Cutoffs
from mpir.core.weights import RANKS, RECURSIVE, Normalise, Weights
from mpir.errors import InputError, format_names, format_value
from mpir.tune.simplex import Simplex
from mpir.types import F64, I64
from mpir.validation import check_choice

CONTEXT = "context"
LARGEST_FEEDBACK = 0.99
"""Maximum share of the context in the fixpoint reading; the fixed point exists below 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """All weights for given columns, parametrised by coordinates (d,) in the unit cube: first α's, then β's.

    A ranking does not change when all weights of a sum are multiplied by a positive factor, so each sum's weights are
    a mixture: shares ≥ 0 that add up to 1. A share is in units of its column's standard deviation inside questions
    (`units`, by the column's name); sentence sums and document sums then have about unit deviation and are not
    rescaled (S_DOC uses sentence sums without the share of ordering columns, which have less). β2·w is one quantity for
    each rank, so the β of document columns and these products form the second mixture.

    Each level in `cut` has two more coordinates for its cut-off: the share, and the maximum number, from 1 to 10
    (core/cutoffs.py). A share has the same meaning for any weights.
    """

    alpha: Simplex
    beta: Simplex
    documents: int
    units: Mapping[str, float]
    context: str
    normalise: Normalise
    cut: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        columns: Columns,
        *,
        context: str = "bm25",
        normalise: Normalise = "none",
        bounds: Mapping[str, tuple[float, float]] | None = None,
        cut: tuple[str, ...] = (),
    ) -> Space:
        """Make the space for columns. `bounds` has (lowest, highest) shares by column, "context", "w1" ….

        `cut` has the levels with a cut-off: "documents", "snippets" or both.

        Raises:
            InputError: a column that is constant inside every question, bounds for an unknown name, bounds that no
                mixture can meet, or bounds without a valid fixed point.
        """
        layout = columns.layout
        alpha, beta = (*layout.sentences, CONTEXT), (*layout.documents, *(f"w{rank}" for rank in range(1, RANKS + 1)))
        shares_bounds = dict(bounds or {})
        unknown = set(shares_bounds) - {*alpha, *beta}
        if unknown:
            raise InputError(
                f"bounds: there is no weight {format_value(min(unknown))}; the weights are "
                f"{format_names((*alpha, *beta))}."
            )
        if context == "fixpoint":
            shares_bounds[CONTEXT] = _below_feedback(shares_bounds.get(CONTEXT, (0.0, 1.0)), alpha, shares_bounds)
        units = _units(columns, normalise)
        check_choice("context", context, (*layout.documents, *RECURSIVE))
        mixtures = Simplex.of(alpha, shares_bounds), Simplex.of(beta, shares_bounds)
        return cls(
            alpha=mixtures[0],
            beta=mixtures[1],
            documents=len(layout.documents),
            units=units,
            context=context,
            normalise=normalise,
            cut=cut,
        )

    @property
    def blocks(self) -> dict[str, slice]:
        """The coordinates of each half by name, and those of the cut-offs."""
        first, second = self.alpha.dimensions, self.beta.dimensions
        halves = {"beta": slice(first, first + second), "alpha": slice(0, first)}
        return {**halves, "cutoffs": slice(first + second, self.dimensions)} if self.cut else halves

    @property
    def dimensions(self) -> int:
        """The number of coordinates."""
        return self.alpha.dimensions + self.beta.dimensions + 2 * len(self.cut)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the shares, in the order of `shares`."""
        return (*self.alpha.names, *self.beta.names)

    def equal(self) -> F64:
        """The coordinates of equal weights: the same share for each column of a sum, within bounds."""
        halves = (np.full(len(half.names), 1 / len(half.names)) for half in (self.alpha, self.beta))
        return self.coordinates(np.concatenate(list(halves)))

    def shares(self, coordinates: F64) -> F64:
        """Return the shares of both halves in sequence."""
        blocks = self.blocks
        halves = (self.alpha.shares(coordinates[blocks["alpha"]]), self.beta.shares(coordinates[blocks["beta"]]))
        return np.concatenate(halves)

    def coordinates(self, shares: F64) -> F64:
        """Return the coordinates of shares of both halves, with ten documents and ten snippets."""
        first = len(self.alpha.names)
        halves = [self.alpha.coordinates(shares[:first]), self.beta.coordinates(shares[first:])]
        return np.concatenate([*halves, np.tile(_UNCUT, len(self.cut))])

    def cutoffs(self, coordinates: F64) -> Cutoffs | None:
        """Return the cut-offs at a point of the unit cube; None if they are not tuned."""
        if not self.cut:
            return None
        pairs = zip(*[iter(coordinates[self.blocks["cutoffs"]].tolist())] * 2, strict=True)
        return Cutoffs(
            **{
                level: Cutoff(share=share or None, maximum=1 + round(number * (SUBMISSION_LIMIT - 1)))
                for level, (share, number) in zip(self.cut, pairs, strict=True)
            }
        )

    def weights(self, coordinates: F64) -> Weights:
        """Return the weights at a point of the unit cube."""
        shares = dict(zip(self.names, self.shares(coordinates).tolist(), strict=True))
        columns, ranks = self.beta.names[: self.documents], [shares[name] for name in self.beta.names[self.documents :]]
        sentences = sum(ranks)
        w = tuple(share / sentences for share in ranks) if sentences > 0 else (1 / len(ranks),) * len(ranks)
        alpha = {name: shares[name] / self.units[name] for name in self.alpha.names[:-1]}
        alpha_context = shares[CONTEXT] / self.units.get(self.context, 1.0)
        beta = {name: shares[name] / self.units[name] for name in columns}
        return Weights(
            alpha,
            alpha_context=alpha_context,
            beta=beta,
            beta_sentences=sentences,
            w=w,
            context=self.context,
            normalise=self.normalise,
            cutoffs=self.cutoffs(coordinates),
        )


_UNCUT = (0.0, 1.0)
"""Coordinates of a cut-off that submits all ten."""


def _units(columns: Columns, normalise: Normalise) -> dict[str, float]:
    """Return the standard deviation of each column within questions. Raises InputError for a constant column."""
    columns = scaled(columns, normalise)
    query_of = columns.query_of[columns.document_of]
    units = {}
    for name, values, owner in [
        *((name, columns.sentence(name), query_of) for name in columns.layout.sentences),
        *((name, columns.document(name), columns.query_of) for name in columns.layout.documents),
    ]:
        units[name] = _deviation(np.asarray(values, np.float64), owner)
        if units[name] < 1e-9:
            raise InputError(
                f"the column {format_value(name)} is constant inside every question, so no weight of it changes a "
                "ranking; leave it out or score it again."
            )
    return units


def _deviation(values: F64, owner: I64) -> float:
    """Return the population standard deviation of values around their group's mean."""
    counts = np.maximum(np.bincount(owner), 1)
    means = np.bincount(owner, values) / counts
    return float(np.sqrt(np.mean((values - means[owner]) ** 2))) if len(values) else 0.0


def _below_feedback(
    bounds: tuple[float, float], alpha: tuple[str, ...], shares_bounds: Mapping[str, tuple[float, float]]
) -> tuple[float, float]:
    """Restrict the context's bounds to where the fixed point exists. Raises InputError if that is nowhere."""
    other_shares = sum(shares_bounds.get(name, (0.0, 1.0))[1] for name in alpha[:-1])
    lowest = max(bounds[0], 1 - other_shares)
    if lowest > LARGEST_FEEDBACK:
        raise InputError(
            f"bounds: the context's share would be {lowest:g} at least, but the fixed point exists only below 1; lower "
            f"it to {LARGEST_FEEDBACK} or less, let other perspectives have more, or choose another context."
        )
    return bounds[0], min(bounds[1], LARGEST_FEEDBACK)
