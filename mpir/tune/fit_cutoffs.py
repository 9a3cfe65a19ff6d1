"""Fit cut-offs for fixed weights: the best of a grid, compared on held-out questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from mpir.core.cutoffs import SUBMISSION_LIMIT, TEN_EACH, Cutoff
from mpir.core.weights import Weights
from mpir.tune.cross_validation import Comparison, by_question, check_folds, compare, folds_of, held_out, same_question
from mpir.tune.objective import Objective
from mpir.types import I64
from mpir.version import __version__

STEPS = 50
"""Shares of the grid are multiples of 1 / STEPS."""


def best_cutoffs(objective: Objective, weights: Weights, levels: Sequence[str]) -> Weights:
    """Return the weights with the best share and maximum for each level ("documents", "snippets").

    Among equally good ones, the longest list wins: the lowest share, then the highest maximum. Other levels keep
    theirs.
    """
    shares = [None, *(step / STEPS for step in range(1, STEPS + 1))]
    grid = [Cutoff(share=share, maximum=number) for share, number in product(shares, range(SUBMISSION_LIMIT, 0, -1))]
    for level in levels:
        base = weights.cutoffs or TEN_EACH
        choices = (replace(weights, cutoffs=replace(base, **{level: cutoff})) for cutoff in grid)
        weights = max(choices, key=objective)
    return weights


def tune_cutoffs(
    objective: Objective, weights: Weights, levels: Sequence[str], *, folds: int, level: float, seed: int
) -> tuple[Weights, Comparison]:
    """Return the weights with the best cut-offs on all questions, and their comparison on held-out questions.

    Each fold is measured with cut-offs chosen on the other folds, and compared with the given weights.

    Raises:
        InputError: as `check_folds`.
    """
    check_folds(objective, folds, level, seed)
    fold_list: list[I64] = folds_of(objective.scored, folds, seed)
    values = held_out(objective, fold_list, lambda training, _: best_cutoffs(training, weights, levels))[0]
    numbers = same_question(objective.scored)
    new, old = (by_question(np.asarray(item), numbers) for item in (values, objective.per_question(weights)))
    evidence = compare(new, old, level=level)
    tuned = best_cutoffs(objective, weights, levels)
    facts = {
        "mpir": __version__,
        "measure": [objective.name, objective.version],
        "data": objective.scored.data,
        "questions": len(objective.scored.questions),
        "held_out": evidence.to_dict(),
    }
    return replace(tuned, made_by={**weights.made_by, "cutoffs": facts}), evidence
