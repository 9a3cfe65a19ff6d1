"""Effects of weights: the objective's dependence on each, and each column's contribution to the top scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mpir.core.blend import blend
from mpir.core.weights import Weights
from mpir.tune.objective import Objective
from mpir.tune.space import Space
from mpir.types import F64


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """The objective against the share of one weight (G,), with the other shares of its sum in constant proportions.

    `at_best` (G,) around the best point; `low`, `mean`, `high` (G,) quartiles and mean over random other weights
    (Friedman's partial dependence, 2001).
    """

    name: str
    shares: F64
    at_best: F64
    low: F64
    mean: F64
    high: F64


def dependence(
    objective: Objective, space: Space, best: F64, *, steps: int = 9, samples: int = 16, seed: int = 0
) -> list[Dependence]:
    """Compute the dependence on each weight, around the point `best` (d,) and over `samples` random points."""
    random_points = np.random.default_rng(seed).random((samples, space.dimensions))
    dependences = []
    for number, name in enumerate(space.names):
        half = space.alpha if number < len(space.alpha.names) else space.beta
        column = half.names.index(name)
        shares = np.linspace(half.low[column], min(half.high[column], 1.0), steps)
        rows = [
            [objective(_moved(space, point, number, share)) for share in shares] for point in (best, *random_points)
        ]
        table = np.array(rows[1:])
        low, high = np.quantile(table, [0.25, 0.75], axis=0)
        dependences.append(
            Dependence(name=name, shares=shares, at_best=np.array(rows[0]), low=low, mean=table.mean(axis=0), high=high)
        )
    return dependences


def _moved(space: Space, point: F64, number: int, share: float) -> Weights:
    """Return the weights at a point with one share fixed and the others of its sum rescaled."""
    shares = space.shares(point)
    cut = len(space.alpha.names)
    half = slice(0, cut) if number < cut else slice(cut, None)
    cutoffs = space.blocks.get("cutoffs", slice(len(point), None))
    half_shares, column = shares[half].copy(), number if number < cut else number - cut
    half_shares[column] = 0.0
    half_shares = (
        half_shares / half_shares.sum()
        if half_shares.sum() > 0
        else np.where(np.arange(len(half_shares)) == column, 0.0, 1 / (len(half_shares) - 1))
    )
    half_shares *= 1 - share
    half_shares[column] = share
    shares[half] = half_shares
    moved = space.coordinates(shares)
    moved[cutoffs] = point[cutoffs]
    return space.weights(moved)


def top_shares(objective: Objective, weights: Weights) -> dict[str, F64]:
    """Return each column's share of the score at each rank (K,), as a mean over questions."""
    columns = objective.scored.columns
    blended = blend(columns, weights)
    present = blended.best >= 0
    w = np.where(present, weights.beta_sentences * np.array(weights.w), 0.0)
    layout, used = columns.layout, blended.columns
    summands = {name: weights.beta.get(name, 0.0) * used.document(name) for name in layout.documents}
    for name in layout.sentences:
        values = np.append(weights.alpha[name] * used.sentence(name), 0.0)
        summands[name] = (w * values[blended.best]).sum(axis=1) * (name not in layout.ordering)
    summands["context"] = blended.documents - sum(summands.values())
    chosen = objective.answers(weights).documents
    # questions with fewer documents than ranks, and scores of 0, have no shares
    total = np.append(blended.documents, 0.0)[chosen]
    usable = (chosen >= 0) & (total > 0)
    count = np.maximum(usable.sum(axis=0), 1)
    divided = {
        name: np.append(summand, 0.0)[chosen] / np.where(usable, total, 1.0) for name, summand in summands.items()
    }
    return {name: np.where(usable, summand, 0.0).sum(axis=0) / count for name, summand in divided.items()}
