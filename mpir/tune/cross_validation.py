"""Compare new weights with old ones on questions that they were not tuned on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mpir.core.weights import DEVIATIONS, Weights
from mpir.errors import InputError
from mpir.evaluate.significance import bootstrap_interval, randomisation_test
from mpir.files.journal import Journal
from mpir.files.weights import read_weights, write_weights
from mpir.models.bundles.bundle import check_sealed, seal_one
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from mpir.tune.search import Plan, SearchResult, check_reachable, reachable, search, sought
from mpir.tune.space import Space
from mpir.types import F64, I64
from mpir.validation import real_number, whole_number
from mpir.version import __version__

Adoption = Literal["written", "unchanged", "kept"]
"""Outcome for new weights: written, already in the file, or rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison of two systems over the same questions: means, their difference with its interval, and p.

    `interval` is the bootstrap interval of the difference at 1 − `level`; `p` is two-sided, from the paired
    randomisation test. The new system was not fitted on the questions; `was_seen` states that the old one was.
    """

    questions: int
    new: float
    old: float
    interval: tuple[float, float]
    p: float
    level: float
    was_seen: bool = False

    @property
    def difference(self) -> float:
        """The difference in favour of the new system."""
        return self.new - self.old

    @property
    def better(self) -> bool:
        """Whether the new system is significantly better."""
        return self.difference > 0 and self.p < self.level

    def __str__(self) -> str:
        low, high = self.interval
        seen_text = ", which the old weights were fitted on" if self.was_seen else ""
        return (
            f"{self.new:.4f} against {self.old:.4f} on {self.questions} held-out questions{seen_text}: "
            f"{self.difference:+.4f} ({1 - self.level:.0%} interval {low:+.4f} to {high:+.4f}, p = {self.p:.4f})"
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary."""
        return {**asdict(self), "interval": list(self.interval), "difference": self.difference, "better": self.better}


def compare(new: F64, old: F64, *, level: float = 0.05, was_seen: bool = False) -> Comparison:
    """Compare two systems by their measure on the same questions (Q,); NaN leaves a question out of both.

    `was_seen` states that the old system was fitted on them.

    Raises:
        InputError: a level outside 0 to 1, or no question that counts in both.
    """
    both = ~(np.isnan(new) | np.isnan(old))
    new, old = new[both], old[both]
    interval = bootstrap_interval(new - old, level=1 - level)
    return Comparison(
        questions=len(new),
        new=float(new.mean()),
        old=float(old.mean()),
        interval=interval,
        p=randomisation_test(new, old),
        level=level,
        was_seen=was_seen,
    )


def split(questions: int, count: int, seed: int) -> list[I64]:
    """Assign question numbers at random to `count` folds of equal size.

    Raises:
        InputError: fewer than two folds, or fewer questions than folds.
    """
    if questions < whole_number("the number of folds", count, minimum=2):
        raise InputError(
            f"{questions} question{'s' * (questions != 1)} cannot be held out in {count} folds; score at least {count} "
            "questions, or ask for fewer folds."
        )
    order = np.random.default_rng(seed).permutation(questions)
    return [np.sort(fold).astype(np.int64) for fold in np.array_split(order, count)]


def folds_of(scored: Dataset, count: int, seed: int) -> list[I64]:
    """Assign a set's questions to folds; entries of one question with different candidates share a fold.

    Raises:
        InputError: fewer than two folds, or fewer questions than folds.
    """
    numbers = same_question(scored)
    folds = split(int(numbers.max()) + 1, count, seed)
    return [np.flatnonzero(np.isin(numbers, fold)) for fold in folds]


def same_question(scored: Dataset) -> I64:
    """Number the questions of a set (Q,) by first occurrence; entries with the same id have the same number."""
    number_of: dict[str, int] = {}
    return np.array([number_of.setdefault(question.id, len(number_of)) for question in scored.questions], np.int64)


def by_question(values: F64, numbers: I64) -> F64:
    """Return the mean of the values (Q,) of each question id, because paired tests need independent pairs."""
    counted = ~np.isnan(values)
    counts = np.bincount(numbers, counted)
    sums = np.bincount(numbers, np.where(counted, values, 0.0))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def held_out(
    objective: Objective, folds: list[I64], fit: Callable[[Objective, int], Weights]
) -> tuple[F64, list[Weights]]:
    """Measure each question (Q,) with weights that `fit` chose without it; also return each fold's weights.

    `fit` is called with the objective of the other folds and the number of the held-out fold.
    """
    values, fitted = np.full(len(objective.scored.questions), np.nan), []
    for number, fold in enumerate(folds):
        training = np.setdiff1d(np.arange(len(values)), fold)
        fitted.append(fit(objective.restricted(training), number))
        # Computed over all questions, because a fold alone may have no gold.
        values[fold] = objective.per_question(fitted[-1])[fold]
    return values, fitted


def cross_validate(
    objective: Objective,
    space: Space,
    plan: Plan,
    old: Weights,
    *,
    folds: int = 5,
    level: float = 0.05,
    journal: Journal | None = None,
    progress: bool = False,
) -> Comparison:
    """Compare tuning with the current weights; each question is measured with weights tuned without it.

    Raises:
        InputError: as `check_folds`.
    """
    check_folds(objective, folds, level, plan.seed)
    fold_list, numbers = folds_of(objective.scored, folds, plan.seed), same_question(objective.scored)

    def fit(training: Objective, number: int) -> Weights:
        """Search the weights of a fold by the objective of the other folds."""
        label = f"fold {number + 1} of {folds}"
        return search(training, space, plan, journal=journal, label=label, progress=progress).weights

    was_seen = not objective.scored.contents.isdisjoint(_sets_of(old))
    new = by_question(held_out(objective, fold_list, fit)[0], numbers)
    return compare(new, by_question(objective.per_question(old), numbers), level=level, was_seen=was_seen)


def _sets_of(weights: Weights) -> list[str]:
    """Return the fingerprints of the sets that weights were fitted on; a user's file may contain other values."""
    data, sets = (weights.made_by.get(key) for key in ("data", "sets"))
    return [
        fingerprint
        for fingerprint in (data, *(sets if isinstance(sets, list | tuple) else ()))
        if isinstance(fingerprint, str)
    ]


def check_folds(objective: Objective, folds: int, level: float, seed: int) -> None:
    """Raise the errors of `cross_validate` before a journal is opened or a trial made.

    Raises:
        InputError: fewer questions than folds, a level outside 0 to 1, or a fold without which no candidate is
            relevant, so that nothing can be tuned.
    """
    real_number(
        "the level of significance", level, "a number between 0 and 1, such as 0.05", lambda value: 0 < value < 1
    )
    fold_list = folds_of(objective.scored, folds, seed)
    check_reachable(objective)
    gold = reachable(objective)
    for number, fold in enumerate(fold_list, 1):
        if not np.delete(gold, fold).any():
            raise InputError(
                f"the questions outside fold {number} of {folds} have no gold {sought(objective)} among their "
                "candidates; use other folds or another seed, or score more questions."
            )


def signed(
    result: SearchResult, evidence: Comparison, objective: Objective, space: Space, made_by: Mapping[str, Any]
) -> Weights:
    """Return the weights with `made_by` (see `search.settings`), the columns' deviations and the evidence."""
    facts = {
        "mpir": __version__,
        **made_by,
        "questions": len(objective.scored.questions),
        "perspectives": dict(objective.scored.made_by.get("perspectives", {})),
        "sets": list(objective.scored.made_by.get("sets", ())),
        DEVIATIONS: dict(space.units),
        "value": result.value,
        "trials": len(result.trials),
        "held_out": evidence.to_dict(),
    }
    return replace(result.weights, made_by=facts)


def adopt(path: str | Path, weights: Weights, evidence: Comparison) -> Adoption:
    """Write weights, unless the file has them already, or has other ones and the evidence does not support a change.

    If the file belongs to a bundle, the bundle's manifest is updated.

    Raises:
        ArtefactError: the file, or another one of the bundle, is damaged.
        OutputError: the file cannot be written.
    """
    target = Path(path)
    unchanged = target.exists() and read_weights(target) == weights
    if target.exists() and not (unchanged or evidence.better):
        return "kept"
    check_sealed(target.parent, but=target.name)
    if not unchanged:
        write_weights(target, weights)
    seal_one(target.parent, target.name)  # also after a kill between the two
    return "unchanged" if unchanged else "written"
