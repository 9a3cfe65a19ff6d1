"""The identity of a training run: only the same run may resume a saved state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mpir.io.hash import fingerprint
from mpir.models.identity import identity_of
from mpir.models.late import LateInteraction
from mpir.models.pooling import MEAN
from mpir.train.mixture import Task
from mpir.train.schedule import Schedule
from mpir.train.settings import TrainingSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """Fingerprints of what a run is made of; None for one that a state of an early version lacks.

    Attributes:
        settings: the settings in plain values, to name the one that differs.
        schedule: the fingerprint of the settings, of the number of batches and of the perspectives' names.
        start: that of the checkpoint that the run started from, as it was then.
        data: what the batches hold, and which losses they meet.
        dev: the rows that the best checkpoint is chosen on: figures on others cannot be compared.
    """

    settings: Mapping[str, Any] | None
    schedule: str | None
    start: str | None
    data: str | None
    dev: str | None

    def difference(self, saved: RunIdentity) -> str | None:
        """Describe how the run of a saved state differs from this one; None if no recorded value differs."""
        for before, now, words in (
            (saved.schedule, self.schedule, f"with other settings{self._different_setting(saved)}"),
            (saved.start, self.start, "from another checkpoint of that name"),
            (saved.data, self.data, "with other data or losses"),
            (saved.dev, self.dev, "with other dev rows"),
        ):
            if before is not None and before != now:
                return words
        return None

    def _different_setting(self, saved: RunIdentity) -> str:
        """The first setting that differs, in words, or that another version of mpir has other settings."""
        now, before = self.settings or {}, saved.settings or self.settings or {}
        name = next((name for name, value in now.items() if name in before and before[name] != value), None)
        if name is not None:
            return f" ({name} was {before[name]}, and is {now[name]})"
        return "" if before.keys() == now.keys() else " (another version of mpir wrote it)"


def start_of(settings: TrainingSettings) -> str:
    """Return the current fingerprint of the checkpoint that a run starts from."""
    return fingerprint(identity_of(settings.checkpoint, None, settings.max_length, settings.precision))


def identify(settings: TrainingSettings, tasks: Sequence[Task], batches: Schedule, start: str) -> RunIdentity:
    """The identity of a run; `start` is what `start_of` gave when its checkpoint was loaded."""
    return RunIdentity(
        settings=asdict(settings),
        schedule=_schedule(settings, tasks, len(batches)),
        start=start,
        data=fingerprint([[_losses(task) for task in tasks], *batches.identity]),
        dev=fingerprint([[asdict(row) for row in task.dev] for task in tasks]),
    )


def _schedule(settings: TrainingSettings, tasks: Sequence[Task], batches: int) -> str:
    values = {name: value for name, value in asdict(settings).items() if value is not None}
    values["bf16"] = (precision := values.pop("precision")) == "bf16"  # as in states from before fp16 was supported
    if precision == "fp16":
        values["fp16"] = True
    return fingerprint({**values, "batches": batches, "tasks": [task.name for task in tasks]})


def _losses(task: Task) -> list[str]:
    """A task's losses and, where it is not the usual one, its pooling."""
    how = task.pooling
    sampled = [] if task.sampling is None else [str(task.sampling)]
    vectors = [str(how)] if isinstance(how, LateInteraction) else [how.method, how.similarity]
    return [*map(str, task.losses), *([] if how == MEAN else vectors), *sampled]
