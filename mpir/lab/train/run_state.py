"""The state of a training run, with conversion to and from the dictionary that torch saves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mpir.lab.train.negative_sampler import SampledNegatives
from mpir.lab.train.random_state import RandomState
from mpir.lab.train.run_identity import RunIdentity

Values = Mapping[str, Any]


@dataclass(slots=True)
class Counters:
    """The progress of a run.

    Attributes:
        step: batches that were trained on.
        best: the highest mean of the dev figures.
        stale: evaluations on dev since then.
        falls: how often the learning rate fell because dev had stalled.
    """

    step: int = 0
    best: float = -math.inf
    stale: int = 0
    falls: int = 0

    def record(self, figure: float, quarter_after: int | None) -> bool:
        """Count an evaluation on dev; return whether its figure is the best so far."""
        is_best = figure > self.best
        self.best = figure if is_best else self.best
        self.stale = 0 if is_best else self.stale + 1
        if self.stale and quarter_after and self.stale % quarter_after == 0:
            self.falls += 1
        return is_best


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimisationState:
    """The states of the optimiser, the learning-rate schedule and the loss scaler (empty unless fp16)."""

    optimiser: Values
    rate: Values
    scaler: Values


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """Everything that is needed to resume a run, and the identity of the run."""

    run: RunIdentity
    counters: Counters
    negatives: SampledNegatives
    model: Values
    optimisation: OptimisationState
    random: RandomState

    def to_values(self) -> dict[str, Any]:
        """Return the values to save."""
        run, counters, negatives = self.run, self.counters, self.negatives
        return {
            "settings": run.settings,
            "identity": run.schedule,
            "start": run.start,
            "data": run.data,
            "dev": run.dev,
            "counters": (counters.step, counters.best, counters.stale),
            "falls": counters.falls,
            "skipped": negatives.skipped,
            "pool": (negatives.step, list(negatives.texts)),
            "model": self.model,
            "optimiser": self.optimisation.optimiser,
            "rate": self.optimisation.rate,
            "scaler": self.optimisation.scaler,
            "random": self.random.cpu,
            "device random": self.random.device,
        }

    @classmethod
    def from_values(cls, values: Values) -> RunState:
        """Make a state from saved values; early versions saved fewer.

        Raises:
            KeyError, TypeError, ValueError: a value is missing or invalid.
        """
        step, best, stale = values["counters"]
        pool_step, texts = values.get("pool", (0, []))
        return cls(
            run=RunIdentity(
                settings=values.get("settings"),
                schedule=values.get("identity"),
                start=values.get("start"),
                data=values.get("data"),
                dev=values.get("dev"),
            ),
            counters=Counters(step, best, stale, values.get("falls", 0)),
            negatives=SampledNegatives(pool_step, texts, values.get("skipped", 0)),
            model=values["model"],
            optimisation=OptimisationState(
                optimiser=values["optimiser"], rate=values["rate"], scaler=values.get("scaler") or {}
            ),
            random=RandomState(values["random"], values.get("device random")),
        )
