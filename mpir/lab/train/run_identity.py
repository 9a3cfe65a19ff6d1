"""The identity of a training run: only the same run may resume a saved state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mpir.core.checksum import fingerprint
from mpir.lab.train.mixture import Task
from mpir.lab.train.schedule import Schedule
from mpir.lab.train.settings import TrainingSettings
from mpir.models.identity import identity_of
from mpir.models.late import LateInteraction
from mpir.models.pooling import MEAN


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """Fingerprints of a run's settings and inputs; None for one that states of early versions lack.

    Attributes:
        settings: the settings as plain values, to name a difference.
        schedule: fingerprint of the settings, the number of batches, and the names of the perspectives.
        start: fingerprint of the initial checkpoint when it was loaded.
        data: fingerprint of the training data and losses.
        dev: fingerprint of the dev rows, because figures on other rows are not comparable.
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
        """Describe the first setting that differs, or note that another version of mpir has other settings."""
        now, before = self.settings or {}, saved.settings or self.settings or {}
        name = next((name for name, value in now.items() if name in before and before[name] != value), None)
        if name is not None:
            return f" ({name} was {before[name]}, and is {now[name]})"
        return "" if before.keys() == now.keys() else " (another version of mpir wrote it)"


def start_of(settings: TrainingSettings) -> str:
    """Return the current fingerprint of the checkpoint that a run starts from."""
    return fingerprint(identity_of(settings.checkpoint, None, settings.max_length, settings.precision))


def identify(settings: TrainingSettings, tasks: Sequence[Task], batches: Schedule, start: str) -> RunIdentity:
    """Return the identity of a run; `start` is the result of `start_of` when its checkpoint was loaded."""
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
    """Return a task's losses and, if it is not the default, its pooling."""
    how = task.pooling
    sampled = [] if task.sampling is None else [str(task.sampling)]
    vectors = [str(how)] if isinstance(how, LateInteraction) else [how.method, how.similarity]
    return [*map(str, task.losses), *([] if how == MEAN else vectors), *sampled]
