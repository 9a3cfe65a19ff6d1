"""One thread scores; requests of many clients wait in one bounded queue and are scored together."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field

from mpir.models.cancellation import AbandonedError, while_wanted
from mpir.rank.ranking import Ranking
from mpir.serve.settings import ApiError, Limits
from mpir.text import Document

log = logging.getLogger(__name__)
FIRST_RATE = 20_000.0
"""Tokens a second, until it has been measured."""


@dataclass(eq=False, slots=True)
class Job:
    """A query with its documents that waits for its ranking; `waited` is in seconds.

    Once it is not `wanted` any more, its scoring may be left unfinished, and its future without a result.
    """

    query: str
    documents: Sequence[Document]
    tokens: int
    future: Future[Ranking] = field(default_factory=Future)
    since: float = field(default_factory=time.perf_counter)
    waited: float = 0.0
    wanted: bool = True


Score = Callable[[Sequence[str], Sequence[Sequence[Document]]], list[Ranking]]


class Scoring:
    """The thread and its queue. An idle thread takes a request at once; a busy one takes all that wait, up to a budget.

    One thread, because what is scored together shares passes, and several would only take turns. A client that goes
    away cancels its future, and its request is not scored; nor is the rest of what is being scored for such clients
    alone.
    """

    def __init__(self, score: Score, limits: Limits, observe: Callable[[Sequence[Job], float], None]) -> None:
        """`score` ranks many queries in one call; `observe` is told what was scored together and how long it took."""
        self._score, self._limits, self._observe = score, limits, observe
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._stopped = False
        self._rate = FIRST_RATE
        self._thread = threading.Thread(target=self._run, name="mpir-scoring", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Score what waits, then end the thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    @property
    def waiting(self) -> int:
        """The tokens that wait, without those of clients that have gone."""
        with self._changed:
            return self._tokens()

    def submit(self, job: Job) -> Job:
        """Put a request into the queue; its future gets the ranking. Raises ApiError (429) where the queue is full."""
        with self._changed:
            waiting = self._tokens()
            if self._stopped or (waiting and waiting + job.tokens > self._limits.waiting):
                seconds = max(1, round(waiting / self._rate))
                raise ApiError(429, f"too many requests wait; try again in {seconds} s.", retry_after=seconds)
            self._waiting.append(job)
            self._changed.notify()
        return job

    def _tokens(self) -> int:
        return sum(job.tokens for job in self._waiting if not job.future.cancelled())

    def _run(self) -> None:
        while jobs := self._take():
            begin = time.perf_counter()
            for job in jobs:
                job.waited = begin - job.since
            try:
                self._answer(jobs)
            except AbandonedError:  # which says nothing of how fast this is
                continue
            took = time.perf_counter() - begin
            self._rate += 0.2 * (sum(job.tokens for job in jobs) / max(took, 1e-6) - self._rate)
            self._observe(jobs, took)

    def _take(self) -> list[Job]:
        """The requests that are scored together: as many as the budget has room for, and at least one."""
        with self._changed:
            jobs: list[Job] = []
            while not jobs:
                self._changed.wait_for(lambda: self._waiting or self._stopped)
                if not self._waiting:
                    return []
                room = self._limits.batch
                while self._waiting and (not jobs or self._waiting[0].tokens <= room):
                    job = self._waiting.popleft()
                    if job.future.set_running_or_notify_cancel():
                        jobs.append(job)
                        room -= job.tokens
            return jobs

    def _answer(self, jobs: Sequence[Job]) -> None:
        try:
            with while_wanted(lambda: any(job.wanted for job in jobs)):
                rankings = self._score([job.query for job in jobs], [job.documents for job in jobs])
        except AbandonedError:
            raise
        except Exception as error:
            if len(jobs) > 1:  # one request's fault is not the others'
                for job in jobs:
                    with suppress(AbandonedError):
                        self._answer([job])
                return
            log.exception("a request could not be scored")
            jobs[0].future.set_exception(error)
            return
        for job, ranking in zip(jobs, rankings, strict=True):
            job.future.set_result(ranking)
