"""Search for weights, half by half or jointly, and log each trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from mpir.core.checksum import fingerprint
from mpir.core.cutoffs import SUBMISSION_LIMIT
from mpir.core.weights import Weights
from mpir.errors import InputError
from mpir.files.journal import Journal
from mpir.tune.measures import MEASURES
from mpir.tune.objective import Objective
from mpir.tune.optimiser import Bayesian, MakeOptimiser
from mpir.tune.space import Space
from mpir.types import F64, Bool
from mpir.validation import real_number, whole_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Settings of a search: groups of coordinates, budget and optimiser.

    `halves` are searched in turn with `calls` evaluations each, for at most `loops` loops. The search ends early when
    no half of a loop improves the objective by more than `tolerance`. A single half of all coordinates is a joint
    search.

    Raises:
        InputError: a budget without evaluations, or an invalid tolerance or seed.
    """

    halves: tuple[str, ...] = ("beta", "alpha")
    calls: int = 25
    loops: int = 3
    tolerance: float = 1e-4
    seed: int = 0
    optimiser: MakeOptimiser = Bayesian()  # noqa: RUF009  (immutable)

    def __post_init__(self) -> None:
        for name, minimum in (("calls", 1), ("loops", 1), ("seed", 0)):
            whole_number(name, getattr(self, name), minimum=minimum)
        real_number("tolerance", self.tolerance, "a finite number, such as 0.0001")

    @property
    def budget(self) -> int:
        """The maximum number of evaluations, including the start."""
        return 1 + self.calls * self.loops * len(self.halves)

    def describe(self) -> dict[str, Any]:
        """A JSON-able description."""
        how = self.optimiser if isinstance(self.optimiser, Bayesian) else getattr(self.optimiser, "__name__", "")
        options = {name: getattr(self, name) for name in ("halves", "calls", "loops", "tolerance", "seed")}
        return {**options, "halves": list(self.halves), "optimiser": str(how)}


@dataclass(frozen=True, slots=True)
class Trial:
    """One evaluation: its loop, half, point in the whole space, and value."""

    loop: int
    half: str
    point: tuple[float, ...]
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The result of a search: the best point, its weights and value, and all trials in order.

    `path` begins with the starting point, followed by the best point after each half.
    """

    point: F64
    weights: Weights
    value: float
    trials: tuple[Trial, ...]
    path: tuple[F64, ...]

    @property
    def best_so_far(self) -> F64:
        """The best value after each evaluation (T,)."""
        return np.maximum.accumulate([trial.value for trial in self.trials])


def search(
    objective: Objective,
    space: Space,
    plan: Plan,
    *,
    journal: Journal | None = None,
    label: str = "tuning",
    progress: bool = False,
) -> SearchResult:
    """Search the space for the weights with the highest objective, starting from equal weights.

    Each trial is written to the journal under `label`, and trials in the journal are not repeated, so an interrupted
    search ends like an uninterrupted one.

    Raises:
        InputError: no candidate is relevant, so that all weights are equally bad.
    """
    check_reachable(objective)
    run = _Run(objective, space, plan, journal, label)
    with tqdm(total=plan.budget, desc=label, unit="trial", disable=not progress) as bar:
        for trial in run.trials():
            run.made.append(trial)
            bar.update()
            bar.set_postfix_str(f"best {run.best:.4f}", refresh=False)
    return SearchResult(
        point=run.point, weights=space.weights(run.point), value=run.best, trials=tuple(run.made), path=tuple(run.path)
    )


class _Run:
    """The state of a search."""

    def __init__(self, objective: Objective, space: Space, plan: Plan, journal: Journal | None, label: str) -> None:
        self.objective, self.space, self.plan = objective, space, plan
        self.journal, self.label = journal, label
        self.point, self.best = space.equal(), -np.inf
        self.made: list[Trial] = []
        self.path: list[F64] = []

    def trials(self) -> Iterator[Trial]:
        """Run all trials, and keep the best."""
        yield self._trial(0, "start", self.point)
        self.path.append(self.point)
        for loop in range(self.plan.loops):
            improved = False
            for number, half in enumerate(self.plan.halves):
                before = self.best
                yield from self._half(loop, number, half)
                self.path.append(self.point)
                improved |= self.best - before > self.plan.tolerance
            if not improved:
                return

    def _half(self, loop: int, number: int, half: str) -> Iterator[Trial]:
        """Search the coordinates of one half, with the others fixed at the best point so far."""
        block = self.space.blocks.get(half, slice(None))
        base = self.point
        optimiser = self.plan.optimiser(len(base[block]), self.plan.calls, [self.plan.seed, loop, number])
        optimiser.tell(base[block], self.best, proposed=False)
        for _ in range(self.plan.calls):
            logged = self._logged()
            point = base.copy()
            point[block] = optimiser.ask() if logged is None else np.array(logged["point"])[block]
            trial = self._trial(loop, half, point)
            optimiser.tell(point[block], trial.value)
            yield trial

    def _trial(self, loop: int, half: str, point: F64) -> Trial:
        logged = self._logged()
        value = self.objective(self.space.weights(point)) if logged is None else float(logged["value"])
        if logged is None and self.journal is not None:
            record = {"loop": loop, "half": half, "point": point.tolist(), "value": value}
            self.journal.add(self._name(), record)
        if value > self.best:
            self.point, self.best = point, value
        return Trial(loop, half, tuple(point.tolist()), value)

    def _logged(self) -> dict[str, Any] | None:
        return None if self.journal is None else self.journal.records.get(self._name())

    def _name(self) -> str:
        return f"{self.label} {len(self.made)}"


def check_reachable(objective: Objective) -> None:
    """Raise InputError if no candidate is relevant, so that no weights are better than others."""
    _check_supported(objective)
    if not reachable(objective).any():
        raise InputError(
            f"none of the {len(objective.scored.questions)} questions has a gold {sought(objective)} among its "
            "candidates, so all weights are equally bad; retrieve more candidates, or check that corpus and gold "
            "belong together."
        )


def _check_supported(objective: Objective) -> None:
    """Raise InputError if the gold has no items that the measure counts."""
    judgements, noun = objective.pool.judgements, sought(objective)
    counts = judgements.gold_documents if noun == "document" else judgements.gold_snippets
    if objective.name in MEASURES and not counts.any():
        usable = "" if noun == "document" else " with usable offsets"
        alternative = "document-map" if noun == "snippet" else "snippet-map"
        raise InputError(
            f"the measure {objective.name} needs gold {noun}s{usable}, but none of the "
            f"{len(objective.scored.questions)} questions has any; choose another measure, such as {alternative}, or "
            "score questions that have them."
        )


def reachable(objective: Objective) -> Bool:
    """Whether each question (Q,) has a candidate that is relevant to the measure."""
    judgements, columns = objective.pool.judgements, objective.scored.columns
    documents = columns.query_of[judgements.relevant]
    snippets = columns.query_of[columns.document_of[judgements.matched > 0]]
    is_reachable = np.zeros(len(objective.scored.questions), bool)
    if sought(objective) == "snippet":
        is_reachable[snippets] = True
    if sought(objective) == "document" or objective.name not in MEASURES:
        is_reachable[documents] = True
    return is_reachable


def sought(objective: Objective) -> str:
    """Return the unit of a measure: document or snippet."""
    return "document" if objective.name.startswith("document-") else "snippet"


def settings(objective: Objective, space: Space, plan: Plan, **options: Any) -> dict[str, Any]:
    """Return everything that a search depends on, for the header of its journal.

    `data` identifies the scored set, and `chosen` its questions and candidates in use.
    """
    scored = objective.scored
    return {
        "data": scored.data,
        "chosen": fingerprint([[question.id for question in scored.questions], scored.documents.tolist()]),
        "limits": [SUBMISSION_LIMIT, SUBMISSION_LIMIT],
        "measure": [objective.name, objective.version],
        "context": [space.context, space.normalise],
        "bounds": [_bounds(half.names, half.low, half.high) for half in (space.alpha, space.beta)],
        "plan": plan.describe(),
        **({"cut": list(space.cut)} if space.cut else {}),
        **options,
    }


def _bounds(*columns: Sequence[Any]) -> list[list[Any]]:
    return [list(row) for row in zip(*columns, strict=True)]
