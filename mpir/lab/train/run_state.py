"""The state of a training run: only the same run may resume it, and it draws the same random numbers again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mpir.core.checksum import fingerprint
from mpir.lab.train.negative_sampler import SampledNegatives
from mpir.lab.train.settings import TrainingSettings
from mpir.models.checkpoint_files.identity import identity_of

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


class RandomState(NamedTuple):
    """The state of torch's generator and, on a GPU, of the device's generator."""

    cpu: Tensor
    device: Tensor | None

    @classmethod
    def current(cls, device: torch.device) -> RandomState:
        """Return the current state."""
        return cls(torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None)

    def restore(self, device: torch.device) -> None:
        """Restore the generators to this state; on a CPU, the state of a GPU is ignored."""
        torch.set_rng_state(self.cpu)
        if device.type == "cuda" and self.device is not None:
            torch.cuda.set_rng_state(self.device, device)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """Fingerprints of a run's settings and inputs.

    Attributes:
        settings: the settings as plain values, to name a difference.
        schedule: fingerprint of the settings, the number of batches, and the names of the perspectives.
        start: fingerprint of the initial checkpoint when it was loaded.
        data: fingerprint of the training data and losses.
        dev: fingerprint of the dev rows, because figures on other rows are not comparable.
    """

    settings: Mapping[str, Any]
    schedule: str
    start: str
    data: str
    dev: str

    def difference(self, saved: RunIdentity) -> str | None:
        """Describe how the run of a saved state differs from this one; None if no value differs."""
        for name, words in (
            ("schedule", f"with other settings{self._different_setting(saved)}"),
            ("start", "from another checkpoint of that name"),
            ("data", "with other data or losses"),
            ("dev", "with other dev rows"),
        ):
            if getattr(self, name) != getattr(saved, name):
                return words
        return None

    def _different_setting(self, saved: RunIdentity) -> str:
        """Describe the first setting that differs, or note that another version of mpir has other settings."""
        now, before = self.settings, saved.settings
        name = next((name for name, value in now.items() if name in before and before[name] != value), None)
        if name is not None:
            return f" ({name} was {before[name]}, and is {now[name]})"
        return "" if before.keys() == now.keys() else " (another version of mpir wrote it)"


def start_of(settings: TrainingSettings) -> str:
    """Return the current fingerprint of the checkpoint that a run starts from."""
    return fingerprint(identity_of(settings.checkpoint, None, settings.max_length, settings.precision))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """Everything that is needed to resume a run, and the identity of the run."""

    run: RunIdentity
    counters: Counters
    negatives: SampledNegatives
    model: Values
    optimisation: Values
    random: RandomState

    def to_values(self) -> dict[str, Any]:
        """Return the values to save."""
        return {
            "run": asdict(self.run),
            "counters": astuple(self.counters),
            "negatives": tuple(self.negatives),
            "model": self.model,
            "optimisation": self.optimisation,
            "random": tuple(self.random),
        }

    @classmethod
    def from_values(cls, values: Values) -> RunState:
        """Make a state from saved values. Raises KeyError, TypeError or ValueError if one is missing or invalid."""
        step, best, stale, falls = values["counters"]
        return cls(
            run=RunIdentity(**values["run"]),
            counters=Counters(step, best, stale, falls),
            negatives=SampledNegatives(*values["negatives"]),
            model=values["model"],
            optimisation=values["optimisation"],
            random=RandomState(*values["random"]),
        )
