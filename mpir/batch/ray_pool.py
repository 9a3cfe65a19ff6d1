"""Scoring on a pool of Ray actors, each with the models loaded, for a driver that keeps results in its journal.

The pool is made of Ray Core's actors, not of Ray Data: mpir has a journal, to which the driver writes each question
once, while Ray Data's own checkpoint is in beta and may repeat work. Ray Data survives errors by dropping blocks
(`max_errored_blocks`), but a batch must be repeated where a worker is lost, and the job must end with one sentence
where the input is wrong. Batches are those of a run without Ray and come back in order, so that results are equal to
the last bit; Ray Data would cut blocks of its own.
"""

from __future__ import annotations

import logging
import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mpir.errors import DeviceError, InputError, shortened
from mpir.rank.candidates import Candidates
from mpir.rank.inputs import DocumentLike
from mpir.rank.reranker import Reranker

log = logging.getLogger(__name__)

ATTEMPTS = 3
"""Actors that may end while they have the same task."""
QUEUED = 2
"""Tasks of an actor: the one that it works on, and the next."""
AHEAD = 2 * QUEUED
"""Tasks for each actor that are not yet yielded, done or not: results are yielded in order."""


def _threads(share: int) -> int:
    """Threads of an actor on a CPU: its share, or as many as the driver would have if the user says how many.

    Their number may change the last bit of a score.
    """
    import torch

    return torch.get_num_threads() if "OMP_NUM_THREADS" in os.environ else share


class ScoringActor:
    """What an actor holds: a reranker, loaded at the first task, so that its errors are those of a task."""

    def __init__(self, load: Callable[[], Reranker], identity: Mapping[str, Any], threads: int) -> None:
        """`load` gives the reranker, whose identity must be that of the driver's; `threads` is for a CPU."""
        self._load, self._identity, self._threads = load, identity, threads

    @cached_property
    def reranker(self) -> Reranker:
        """The reranker. Raises InputError where its scores would be others than the driver's."""
        import torch

        torch.set_num_threads(min(self._threads, os.cpu_count() or 1))
        reranker = self._load()
        if different := [name for name, value in self._identity.items() if reranker.identity.get(name) != value]:
            raise InputError(
                f"the worker on {socket.gethostname()} would give other scores than this machine (they differ in "
                f"{', '.join(different)}); give both the same mpir and bundle, and name --precision."
            )
        return reranker

    def score(self, batch: list[Candidates]) -> list[Candidates]:
        """Score prepared candidates, as the driver would. Raises what `Reranker.score_prepared` does."""
        self.reranker.forget_texts()  # which belong to whichever batch this actor had before
        return self.reranker.score_prepared(batch)


@dataclass(eq=False, kw_only=True)
class Task:
    """A batch, the place in the pool that has it, the actor that had that place, and what it gave."""

    batch: list[Candidates]
    slot: int = 0
    actor: Any = None
    attempt: int = 0
    scored: list[Candidates] | None = None


class RayPool:
    """A reranker whose batches are scored by actors."""

    def __init__(
        self, ray: Any, reranker: Reranker, load: Callable[[], Reranker], *, workers: int, gpus_per_worker: float = 0
    ) -> None:
        """`reranker` prepares candidates here, and `load` makes another one in each actor.

        Raises:
            InputError: the cluster has not so many CPUs or GPUs.
        """
        self._ray, self._reranker = ray, reranker
        resources = ray.cluster_resources()
        cpus, gpus = int(resources.get("CPU", 0)), resources.get("GPU", 0)
        if cpus < workers or gpus < workers * gpus_per_worker:
            raise InputError(
                f"--workers is {workers}, with a CPU and {gpus_per_worker:g} GPUs each, but the cluster has {cpus} "
                f"CPUs and {gpus:g} GPUs; ask for fewer."
            )
        self._make = ray.remote(num_cpus=1, num_gpus=gpus_per_worker, scheduling_strategy="SPREAD")(ScoringActor).remote
        self._order = (load, reranker.identity, _threads(cpus // workers))
        self._actors = [self._make(*self._order) for _ in range(workers)]

    def stream_scored(self, queries: Iterable[str], docs: Iterable[Iterable[DocumentLike]]) -> Iterator[Candidates]:
        """As `Reranker.stream_scored`: results come in order, and batches are prepared as actors take them.

        Raises:
            DeviceError: actors ended three times while they had the same batch.
            MpirError: what an actor raised.
        """
        batches = self._reranker.prepared_batches(queries, docs)
        free = deque([*range(len(self._actors))] * QUEUED)
        tasks, busy = deque[Task](), dict[Any, Task]()
        while True:
            while free and len(tasks) < AHEAD * len(self._actors) and (batch := next(batches, None)):
                tasks.append(Task(batch=batch))
                self._submit(tasks[-1], free, busy)
            if not tasks:
                return
            (reference,), _ = self._ray.wait(list(busy))
            task = busy.pop(reference)
            free.append(task.slot)
            if not self._collect(task, reference):
                self._submit(task, free, busy)
            while tasks and tasks[0].scored is not None:
                yield from tasks.popleft().scored or ()

    def _submit(self, task: Task, free: deque[int], busy: dict[Any, Task]) -> None:
        task.slot, task.attempt = free.popleft(), task.attempt + 1
        task.actor = self._actors[task.slot]
        busy[task.actor.score.remote(task.batch)] = task

    def _collect(self, task: Task, reference: Any) -> bool:
        """Take what a task gave; False where its actor was lost, whose place another one takes."""
        errors = self._ray.exceptions
        try:
            task.scored, task.batch = self._ray.get(reference), []
        except errors.RayTaskError as error:
            raise (error.cause or error) from error
        except errors.RayError as error:
            if task.attempt >= ATTEMPTS:
                raise DeviceError(
                    f"{ATTEMPTS} workers ended while they had the same questions ({shortened(str(error), 200)}); if "
                    "memory ran out, lower --tokens-per-batch or --workers, and run it again."
                ) from error
            log.warning("a worker ended; another one takes its questions, and a new one its place")
            if self._actors[task.slot] is task.actor:
                self._actors[task.slot] = self._make(*self._order)
        return task.scored is not None
