"""Worker processes, one for each of several devices, that run batches for a cross-encoder.

They are started as programs of their own and spoken to through their standard input and output, not with
multiprocessing, whose new processes run the caller's main module again: a script without a guard, or a notebook, would
break. A worker ends when its input does, so none outlives the process that started it, however that one ends.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any

import numpy as np

from mpir.errors import DeviceError
from mpir.models.output_heads import OUTPUTS, Reading
from mpir.models.tokenise import TokenSequence
from mpir.types import F32, I64

log = logging.getLogger(__name__)

Job = tuple[I64, list[TokenSequence]]
Answers = Generator[tuple[I64, F32], None, None]
"""The rows of a batch, and what was read off them; to be closed, so that others may have the workers."""
ATTEMPTS = 2
"""Workers that may end while they have the same batch."""


class Worker:
    """A process with a model of its own."""

    def __init__(self, make: Callable[..., Any], settings: Mapping[str, Any], threads: int) -> None:
        """Start it; `load` makes it ready."""
        self.name, self._order = settings["device"], (make, dict(settings), threads)
        program = f"import sys; sys.path[:] = {sys.path!r}; from mpir.models.workers import serve; serve()"
        # In a process group of its own, a Ctrl-C at the terminal reaches only the process that started it.
        group = 0 if os.name == "posix" else None
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=group
        )

    def load(self) -> None:
        """Wait until its model is loaded. Raises what `call` does."""
        self.call(self._order)

    def run(self, sequences: Sequence[TokenSequence], reading: Reading) -> F32:
        """What `Encoder.run` gives for a batch. Raises what `call` does."""
        outputs: F32 = self.call((reading, *_joined(sequences)))
        return outputs

    def call(self, message: Any) -> Any:
        """Send a message and wait for the answer. Raises EOFError if the worker has ended, or the error it answers."""
        assert self.process.stdin
        assert self.process.stdout
        try:
            pickle.dump(message, self.process.stdin, pickle.HIGHEST_PROTOCOL)
            self.process.stdin.flush()
            answer = pickle.load(self.process.stdout)
        except (OSError, ValueError, pickle.UnpicklingError) as error:
            raise EOFError from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    def end(self) -> str:
        """Stop it and say how it ended."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                # What was not yet sent cannot be: it has ended.
                with suppress(OSError):
                    pipe.close()
        code = self.process.wait()
        return f"signal {-code}" if code < 0 else f"exit status {code}"


class Workers:
    """Several workers that share batches. One that ends hands its batch to the others; they start when first needed.

    Of several threads, one at a time has all of them: a worker answers in the order in which it is asked.
    """

    def __init__(self, make: Callable[..., Any], settings: Sequence[Mapping[str, Any]], threads: int) -> None:
        """`make(**settings)` gives each worker its encoder; `threads` is for each worker on a CPU."""
        self._make, self._settings, self._threads = make, settings, threads
        self._begin()

    def _begin(self) -> None:
        self._process, self._turn = os.getpid(), threading.Lock()
        self.alive: list[Worker] = []
        # Reaches the list, not self, so that an encoder that is no longer used takes its workers with it.
        weakref.finalize(self, _end, self.alive, self._process)

    def close(self) -> None:
        """Stop all of them; the next run starts new ones."""
        _end(self.alive, self._process)

    def run(self, jobs: Iterator[Job], reading: Reading = OUTPUTS) -> Answers:
        """Answer (rows, logits or vectors) for each (rows, batch), in the order in which they are done.

        Raises:
            DeviceError: workers ended and none is left, or a batch ended two of them.
            MpirError: what a worker answered instead of logits.
        """
        if self._process != os.getpid():  # a fork of the process whose questions the workers answer
            self._begin()
        with self._turn, ThreadPoolExecutor(len(self._settings)) as threads:
            try:
                if not self.alive:
                    self._start(threads)
                yield from self._share(jobs, reading, threads)
            except BaseException:
                self.close()  # a worker that is still busy would answer an old question
                raise

    def _start(self, threads: ThreadPoolExecutor) -> None:
        self.alive += [Worker(self._make, settings, self._threads) for settings in self._settings]
        try:
            list(threads.map(Worker.load, self.alive))
        except EOFError as error:
            raise DeviceError(
                f"a worker process of {len(self.alive)} ended while it loaded its model (is there memory for "
                f"{len(self.alive)} models?); name fewer devices."
            ) from error

    def _share(self, jobs: Iterator[Job], reading: Reading, threads: ThreadPoolExecutor) -> Answers:
        idle, retries = list(self.alive), deque[tuple[Job, int]]()
        busy: dict[Future[F32], tuple[Worker, Job, int]] = {}
        fresh = ((job, 1) for job in jobs)
        while True:
            while idle and (next_job := retries.popleft() if retries else next(fresh, None)):
                worker, (job, attempt) = idle.pop(0), next_job
                busy[threads.submit(worker.run, job[1], reading)] = worker, job, attempt
            if not busy:
                return
            for finished in wait(busy, return_when=FIRST_COMPLETED).done:
                worker, job, attempt = busy.pop(finished)
                try:
                    logits = finished.result()
                except EOFError:
                    self._lost(worker, attempt)
                    retries.append((job, attempt + 1))
                else:
                    idle.append(worker)
                    yield job[0], logits

    def _lost(self, worker: Worker, attempt: int) -> None:
        if worker in self.alive:  # and not closed by another thread
            self.alive.remove(worker)
        how = worker.end()
        if attempt >= ATTEMPTS or not self.alive:
            raise DeviceError(
                f"the worker process on {worker.name} ended ({how}) and {len(self.alive)} of {len(self._settings)} are "
                "left; if memory ran out, lower tokens_per_batch or name fewer devices, and run it again."
            )
        log.warning("the worker process on %s ended (%s); the others do its work", worker.name, how)


def _end(workers: list[Worker], process: int) -> None:
    """End the workers of a process; a fork of it leaves them alone."""
    while workers and process == os.getpid():
        workers.pop().end()


def _joined(sequences: Sequence[TokenSequence]) -> tuple[Any, ...]:
    """A batch as three arrays, which are handed over faster than hundreds."""
    ids, type_ids = (np.concatenate([tokens[i] for tokens in sequences]) for i in (0, 1))
    return ids, type_ids, np.cumsum([len(tokens.ids) for tokens in sequences])[:-1]


def serve() -> None:
    """What a worker does: load the encoder that the first message describes, then run batches until the input ends."""
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed must not end up among the answers
    encoder = None
    while True:
        try:
            message = pickle.load(questions)
        except EOFError:
            return
        try:
            answer = None
            if encoder is None:
                encoder = _make_in_worker(*message)
            else:
                reading, ids, type_ids, ends = message
                sequences = zip(np.split(ids, ends), np.split(type_ids, ends), strict=True)
                answer = encoder.run([TokenSequence(*sequence) for sequence in sequences], reading)
        except Exception as error:
            error.add_note("".join(traceback.format_exception(error)))
            answer = error
        pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _make_in_worker(make: Callable[..., Any], settings: Mapping[str, Any], threads: int) -> Any:
    import torch

    if settings["device"].startswith("cpu"):
        torch.set_num_threads(threads)
    encoder = make(**settings)
    _ = encoder.model
    return encoder
