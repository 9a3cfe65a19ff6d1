"""A pool of Ray actors, each with a loaded model, for a driver that records results in its journal.

The pool uses actors of Ray Core instead of Ray Data for three reasons. The driver writes each result to mpir's journal
once, while Ray Data's checkpoint is in beta and may repeat work. Ray Data handles errors by dropping blocks
(`max_errored_blocks`), but a task must be repeated if a worker is lost, and the job must end with one message if the
input is invalid. Tasks are those of a run without Ray and return in order, so that results are equal to the last bit;
Ray Data would form its own blocks.
"""

from __future__ import annotations

import io
import logging
import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from mpir.errors import DeviceError, InputError, MpirError, shortened
from mpir.version import __version__

log = logging.getLogger(__name__)

ATTEMPTS = 3
"""Maximum number of actors that may end during one task."""
QUEUED = 2
"""Tasks of an actor: the current one and the next."""
AHEAD = 2 * QUEUED
"""Unyielded tasks per actor, finished or not, because results are yielded in order."""
Notes = list[tuple[int, str]]
"""Log records of a task: levels and messages."""


@dataclass(frozen=True, kw_only=True)
class ActorJob:
    """The job of all actors in a pool. Functions must be importable, or partials of such, because they are pickled.

    `load` creates the model, for which `identify` must return the driver's `identity`, and `work` computes a task's
    result with it. Relative paths are resolved in `folder`.
    """

    load: Callable[[], Any]
    work: Callable[[Any, Any], Any]
    identify: Callable[[Any], Mapping[str, Any]]
    identity: Mapping[str, Any]
    version: str = __version__
    folder: str = field(default_factory=os.getcwd)


class ModelActor:
    """An actor, which loads its model with the first task, so that load errors are reported as a task's errors."""

    def __init__(self, job: ActorJob, threads: int) -> None:
        """`threads` is for a CPU."""
        self._job, self._threads = job, threads

    @cached_property
    def model(self) -> Any:
        """Return the model. Raises InputError if it cannot be loaded here, or would give other results."""
        import torch

        torch.set_num_threads(min(self._threads, os.cpu_count() or 1))
        host, job = socket.gethostname(), self._job
        if job.version != __version__:
            raise InputError(
                f"the worker on {host} has mpir {__version__}, and this machine {job.version}; install one version on "
                "all machines."
            )
        with suppress(OSError):  # absolute paths may work; a missing path raises an error below
            os.chdir(job.folder)
        try:
            with collected_notes(), redirect_stderr(io.StringIO()):  # the driver has logged the same on loading
                model = job.load()
        except MpirError as error:
            raise InputError(
                f"the worker on {host} cannot load the model: {error} Workers need the same files at the same paths as "
                "this machine, for example in a shared folder."
            ) from error
        identity = job.identify(model)
        if different := [name for name, value in job.identity.items() if identity.get(name) != value]:
            raise InputError(
                f"the worker on {host} would give other scores than this machine (they differ in "
                f"{', '.join(different)}); install the same mpir and bundle on both, and set the precision."
            )
        return model

    def run(self, task: Any) -> tuple[Any, Notes]:
        """Return a task's result, and its log records for the driver. Raises as the job's `work`."""
        model = self.model
        with collected_notes() as notes:
            return self._job.work(model, task), notes


class _NoteHandler(logging.Handler):
    """A handler that collects log records."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: Notes = []

    def emit(self, record: logging.LogRecord) -> None:
        """Store a record's level and message."""
        self.notes.append((record.levelno, record.getMessage()))


@contextmanager
def collected_notes() -> Iterator[Notes]:
    """Collect mpir's log records in the block without showing them."""
    logger, handler = logging.getLogger("mpir"), _NoteHandler()
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield handler.notes
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates


@dataclass(eq=False, kw_only=True)
class _Task:
    """A task's input and result, its position in the pool, and the actor that had that position."""

    content: Any
    slot: int = 0
    actor: Any = None
    attempt: int = 0
    is_done: bool = False
    result: Any = None


class ActorPool:
    """Actors that share the tasks of a job; they start with the first task."""

    def __init__(self, ray: Any, job: ActorJob, *, workers: int, gpus_per_worker: float = 0) -> None:
        """`ray` is connected to the cluster, and `workers` is the number of actors.

        Raises:
            InputError: the cluster has too few CPUs or GPUs.
        """
        self._ray, self._workers = ray, workers
        resources = ray.cluster_resources()
        cpus, gpus = int(resources.get("CPU", 0)), resources.get("GPU", 0)
        if cpus < workers or gpus < workers * gpus_per_worker:
            raise InputError(
                f"workers is {workers}, with a CPU and {gpus_per_worker:g} GPUs each, but the cluster has {cpus} "
                f"CPUs and {gpus:g} GPUs; ask for fewer."
            )
        make: Any = ray.remote(num_cpus=1, num_gpus=gpus_per_worker, scheduling_strategy="SPREAD")(ModelActor).remote
        self._make: Callable[[], Any] = partial(make, job, _threads(cpus // workers))
        self._actors: list[Any] = []

    def map(self, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield the result of each task, in order. Tasks are taken as actors become free.

        Raises:
            DeviceError: actors ended three times while they had the same task.
            MpirError: an actor's error.
        """
        self._actors = self._actors or [self._make() for _ in range(self._workers)]
        fresh, free = iter(tasks), deque([*range(self._workers)] * QUEUED)
        pending, busy = deque[_Task](), dict[Any, _Task]()
        while True:
            while free and len(pending) < AHEAD * self._workers and (content := next(fresh, None)) is not None:
                pending.append(_Task(content=content))
                self._submit(pending[-1], free, busy)
            if not pending:
                return
            (reference,), _ = self._ray.wait(list(busy))
            task = busy.pop(reference)
            free.append(task.slot)
            if not self._collect(task, reference):
                self._submit(task, free, busy)
            while pending and pending[0].is_done:
                yield pending.popleft().result

    def _submit(self, task: _Task, free: deque[int], busy: dict[Any, _Task]) -> None:
        task.slot, task.attempt = free.popleft(), task.attempt + 1
        task.actor = self._actors[task.slot]
        busy[task.actor.run.remote(task.content)] = task

    def _collect(self, task: _Task, reference: Any) -> bool:
        """Store the result of a task; return False if its actor was lost and replaced."""
        errors = self._ray.exceptions
        try:
            task.result, notes = self._ray.get(reference)
            task.content, task.is_done = None, True
            for level, message in notes:
                log.log(level, "%s", message)
        except errors.RayTaskError as error:
            raise (error.cause or error) from error
        except errors.RayError as error:
            if task.attempt >= ATTEMPTS:
                raise DeviceError(
                    f"{ATTEMPTS} workers ended while they had the same task ({shortened(str(error), 200)}); if "
                    "memory ran out, lower batch.tokens or the number of workers, and run it again."
                ) from error
            log.warning("a worker ended; another one takes its task, and a new one its place")
            if self._actors[task.slot] is task.actor:
                self._actors[task.slot] = self._make()
        return task.is_done


def _threads(share: int) -> int:
    """Return the threads of an actor on a CPU: its share, or the number that the user sets for the driver.

    The number may change the last bit of a score.
    """
    import torch

    return torch.get_num_threads() if "OMP_NUM_THREADS" in os.environ else share
