"""Batch requests: those of many clients wait in one bounded queue, and one thread scores them together."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from mpir.app.serve.settings import ApiError, Limits
from mpir.core.cancellation import CancellationError, while_awaited
from mpir.core.text import Document
from mpir.reranking.ranking import Ranking

log = logging.getLogger(__name__)
FIRST_RATE = 20_000.0
"""Assumed tokens per second, until the rate has been measured."""
WARM_UP = ("Is the server warm?", [Document("1", "A title", "A sentence. And another one.")])


@dataclass(eq=False, slots=True, kw_only=True)
class Job:
    """A query and its documents, waiting for a ranking; `waited` is in seconds, and `until` on the monotonic clock.

    Once it is no longer `is_awaited`, its scoring may be abandoned and its future left without a result.
    """

    query: str
    documents: Sequence[Document]
    tokens: int
    until: float | None = None
    future: Future[Ranking] = field(default_factory=Future)
    since: float = field(default_factory=time.perf_counter)
    waited: float = 0.0
    is_awaited: bool = True

    def abandon(self) -> None:
        """Note that nobody awaits the ranking any more."""
        self.is_awaited = False


Check = Callable[[Sequence[Document]], None]
LEAST_SECONDS = 0.001
"""Seconds to answer in where a deadline has passed in the queue: then words alone order the documents."""


class Scorer(Protocol):
    """What ranks: a `Reranker`."""

    def rerank_batch(self, queries: Sequence[str], docs: Sequence[Sequence[Document]]) -> list[Ranking]:
        """Rank many queries in one call."""

    def rerank(self, query: str, docs: Sequence[Document], *, within: float) -> Ranking:
        """Rank in that many seconds."""


class ScoringError(Exception):
    """A request made the scoring thread die."""


class Scoring:
    """The scoring thread and its queue. An idle thread takes a request at once, a busy one all waiting, up to a budget.

    There is one thread because requests scored together share forward passes, and several threads would only take
    turns. A client that disconnects cancels its future, and its request is not scored; a batch in progress is abandoned
    when all its clients have gone. A thread that dies (from more than an Exception) is replaced; `fault` describes that
    until another request is scored.
    """

    def __init__(
        self, scorer: Scorer, check: Check, limits: Limits, observe: Callable[[Sequence[Job], float], None]
    ) -> None:
        """`observe` is called with each batch and its duration.

        `check` raises ApiError for documents that must not be scored.
        """
        self._scorer, self._check, self._limits, self._observe = scorer, check, limits, observe
        self.fault = ""
        self._trial: Job | None = None
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._stopped = False
        self._rate = FIRST_RATE
        self._thread = self._new_thread()

    def _new_thread(self) -> threading.Thread:
        return threading.Thread(target=self._run, name="mpir-scoring", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Score the waiting requests, then end the thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        thread = None
        while thread is not self._thread:  # a new thread if the old one died meanwhile
            thread = self._thread
            thread.join()

    def warm_up(self) -> Future[Ranking]:
        """Score a small request, to load the models or to check that they work. Raises ApiError as `submit`."""
        query, documents = WARM_UP
        self._trial = Job(query=query, documents=documents, tokens=1)
        return self.submit(self._trial).future

    @property
    def waiting(self) -> int:
        """The waiting tokens, without those of disconnected clients."""
        with self._changed:
            return self._tokens()

    def submit(self, job: Job) -> Job:
        """Queue a request; its future gets the ranking. Raises ApiError (429) where the queue is full."""
        with self._changed:
            waiting = self._tokens()
            if self._stopped or (waiting and waiting + job.tokens > self._limits.waiting):
                seconds = max(1, round(waiting / self._rate))
                raise ApiError(429, f"too many requests are waiting; try again in {seconds} s.", retry_after=seconds)
            self._waiting.append(job)
            self._changed.notify()
        return job

    def _tokens(self) -> int:
        return sum(job.tokens for job in self._waiting if not job.future.cancelled())

    def _run(self) -> None:
        jobs: list[Job] = []
        try:
            while jobs := self._take():
                self._answer_and_measure(jobs)
        except BaseException as error:  # a thread dies of these: a panic in a Rust tokenizer is not an Exception
            log.critical("the scoring thread died and is replaced", exc_info=error)
            self._replace(error, jobs)

    def _replace(self, error: BaseException, jobs: Sequence[Job]) -> None:
        """Answer the requests that made the thread die, and continue in a new thread."""
        self.fault = _fault(error)
        thread = self._new_thread()
        thread.start()
        self._thread = thread  # only once it runs, because stopping the service waits for it
        for job in jobs:
            if not job.future.done():
                job.future.set_exception(ScoringError(_fault(error)))
        if self._trial not in jobs:  # a trial that fails is not repeated
            with suppress(ApiError):  # a full queue provides trials enough
                self.warm_up()

    def _answer_and_measure(self, jobs: Sequence[Job]) -> None:
        begin = time.perf_counter()
        for job in jobs:
            job.waited = begin - job.since
        try:
            self._answer(jobs)
        except CancellationError:  # not a measurement of the speed
            return
        took = time.perf_counter() - begin
        self._rate += 0.2 * (sum(job.tokens for job in jobs) / max(took, 1e-6) - self._rate)
        self._observe(jobs, took)

    def _take(self) -> list[Job]:
        """The requests to score together: as many as fit the budget, and at least one."""
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
        """Score requests together or, if that fails, one by one, so that a bad request fails alone.

        Raises:
            CancellationError: no client waits for any of them.
            BaseException: a request raised something other than an Exception; the others have been answered.
        """
        with while_awaited(lambda: any(job.is_awaited for job in jobs)):
            if not (jobs := [job for job in jobs if self._passes(job)]):
                return
            try:
                rankings = self._rank(jobs)
            except CancellationError:
                raise
            except BaseException as error:  # whatever a model raises is its requests' answer; `_fail` tells them apart
                if len(jobs) == 1:
                    self._fail(jobs[0], error)
                else:
                    self._answer_each(jobs)
                return
        self.fault = ""  # before a client can ask
        for job, ranking in zip(jobs, rankings, strict=True):
            job.future.set_result(ranking)

    def _rank(self, jobs: Sequence[Job]) -> list[Ranking]:
        """Rank together the requests without a deadline, after each one with a deadline by itself."""
        rankings: dict[int, Ranking] = {}
        for number, job in enumerate(jobs):
            if job.until is not None:
                within = max(LEAST_SECONDS, job.until - time.monotonic())
                rankings[number] = self._scorer.rerank(job.query, job.documents, within=within)
        others = [number for number in range(len(jobs)) if number not in rankings]
        if others:
            together = [jobs[number] for number in others]
            ranked = self._scorer.rerank_batch([job.query for job in together], [job.documents for job in together])
            rankings |= zip(others, ranked, strict=True)
        return [rankings[number] for number in range(len(jobs))]

    def _passes(self, job: Job) -> bool:
        try:
            self._check(job.documents)
        except ApiError as error:
            job.future.set_exception(error)
            return False
        return True

    def _answer_each(self, jobs: Sequence[Job]) -> None:
        fatal: BaseException | None = None
        for job in jobs:
            try:
                self._answer([job])
            except CancellationError:
                continue
            except BaseException as error:  # raised again below, once the other requests have their answers
                fatal = error
        if fatal is not None:
            raise fatal

    def _fail(self, job: Job, error: BaseException) -> None:
        """Give a request its error. Anything but an Exception becomes a ScoringError for the request and is raised."""
        if not isinstance(error, Exception):
            self.fault = _fault(error)  # before its client can ask
            job.future.set_exception(ScoringError(self.fault))
            raise error
        log.error("a request could not be scored", exc_info=error)
        job.future.set_exception(error)


def _fault(error: BaseException) -> str:
    return f"the scoring thread died ({type(error).__name__}) and was replaced; see the log."
