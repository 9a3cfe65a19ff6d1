"""What weights do: how the objective depends on each of them, and what each column adds to the scores at the top."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mpir.rank.blend import blend_queries
from mpir.rank.weights import Weights
from mpir.tune.objective import Objective
from mpir.tune.space import Space
from mpir.types import F64


@dataclass(frozen=True, slots=True)
class Dependence:
    """The objective against the share of one weight (G,), the other shares of its sum keeping their proportions.

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
    """The dependence on every weight, around the point `best` (d,) and over `samples` random points."""
    others = np.random.default_rng(seed).random((samples, space.dimensions))
    found = []
    for number, name in enumerate(space.names):
        half = space.alpha if number < len(space.alpha.names) else space.beta
        place = half.names.index(name)
        shares = np.linspace(half.low[place], min(half.high[place], 1.0), steps)
        rows = [[objective(_moved(space, point, number, share)) for share in shares] for point in (best, *others)]
        table = np.array(rows[1:])
        low, high = np.quantile(table, [0.25, 0.75], axis=0)
        found.append(Dependence(name, shares, np.array(rows[0]), low, table.mean(axis=0), high))
    return found


def _moved(space: Space, point: F64, number: int, share: float) -> Weights:
    """The weights at a point with one share set and the others of its sum scaled to fill the rest."""
    shares = space.shares(point)
    cut = len(space.alpha.names)
    half = slice(0, cut) if number < cut else slice(cut, None)
    part, place = shares[half].copy(), number if number < cut else number - cut
    part[place] = 0.0
    part = part / part.sum() if part.sum() > 0 else np.where(np.arange(len(part)) == place, 0.0, 1 / (len(part) - 1))
    part *= 1 - share
    part[place] = share
    shares[half] = part
    return space.weights(space.coordinates(shares))


def top_shares(objective: Objective, weights: Weights) -> dict[str, F64]:
    """What part of the score of the document at each rank (K,) every column adds, as a mean over questions."""
    columns = objective.scored.columns
    blended = blend_queries(columns, weights)
    present = blended.best >= 0
    w = np.where(present, weights.beta_sentences * np.array(weights.w), 0.0)
    layout, used = columns.layout, blended.columns
    parts = {name: weights.beta.get(name, 0.0) * used.document(name) for name in layout.documents}
    for name in layout.sentences:
        values = np.append(weights.alpha[name] * used.sentence(name), 0.0)
        parts[name] = (w * values[blended.best]).sum(axis=1) * (name not in layout.ordering)
    parts["context"] = blended.documents - sum(parts.values())
    chosen = objective.answers(weights).documents
    # a question with fewer documents than ranks, or a score of 0, has nothing to divide
    total = np.append(blended.documents, 0.0)[chosen]
    usable = (chosen >= 0) & (total > 0)
    count = np.maximum(usable.sum(axis=0), 1)
    divided = {name: np.append(part, 0.0)[chosen] / np.where(usable, total, 1.0) for name, part in parts.items()}
    return {name: np.where(usable, part, 0.0).sum(axis=0) / count for name, part in divided.items()}
