"""Worker processes that run batches for a cross-encoder, one for each of several devices.

They are separate programs that communicate through standard input and output. multiprocessing would run the caller's
main module again in each new process, which breaks notebooks and scripts without a guard. A worker ends when its input
ends, so none outlives the process that started it, however that process ends.
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
from typing import Any, Protocol

import numpy as np

from mpir.errors import DeviceError
from mpir.models.devices.output_heads import OUTPUTS, Reading
from mpir.models.tokens.tokenise import TokenSequence
from mpir.types import F32, I64

log = logging.getLogger(__name__)

Job = tuple[I64, list[TokenSequence]]
BatchMessage = tuple[Reading, Any, Any, I64]
"""A batch as it is sent to another process: how it is read, its tokens and types in a row, and where each text ends."""
Answers = Generator[tuple[I64, F32], None, None]
"""The rows of a batch and their results; close the generator so that others can use the workers."""
ATTEMPTS = 2
"""How many workers may die on the same batch."""


class BatchRunner(Protocol):
    """Runs batches in other processes."""

    def run(self, jobs: Iterator[Job], reading: Reading = OUTPUTS) -> Answers:
        """Yield (rows, logits or vectors) for each (rows, batch), in any order."""


class Worker:
    """A process with its own model."""

    def __init__(self, make: Callable[..., Any], settings: Mapping[str, Any], threads: int) -> None:
        """Start the process; `load` makes it ready."""
        self.name, self._order = settings["device"], (make, dict(settings), threads)
        program = f"import sys; sys.path[:] = {sys.path!r}; from mpir.models.devices.workers import serve; serve()"
        # In a separate process group, because Ctrl-C at the terminal should reach only the parent.
        group = 0 if os.name == "posix" else None
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=group
        )

    def load(self) -> None:
        """Wait until the model is loaded. Raises as `call`."""
        self.call(self._order)

    def run(self, sequences: Sequence[TokenSequence], reading: Reading) -> F32:
        """The results for a batch. Raises as `call`."""
        outputs: F32 = self.call(batch_message(sequences, reading))
        return outputs

    def call(self, message: Any) -> Any:
        """Send a message and wait for the answer. Raises EOFError if the worker has ended, or the error it returns."""
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
        """Stop the worker, and return how it ended."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                # Pending data cannot be sent: the worker has ended.
                with suppress(OSError):
                    pipe.close()
        code = self.process.wait()
        return f"signal {-code}" if code < 0 else f"exit status {code}"


class Workers:
    """Workers that share batches and start when first needed. If one ends, the others take over its batch.

    Only one thread at a time uses them, because a worker answers in the order of its requests.
    """

    def __init__(self, make: Callable[..., Any], settings: Sequence[Mapping[str, Any]], threads: int) -> None:
        """`make(**settings)` creates each worker's encoder; `threads` is the number for each worker on a CPU."""
        self._make, self._settings, self._threads = make, settings, threads
        self._begin()

    def _begin(self) -> None:
        self._process, self._turn = os.getpid(), threading.Lock()
        self.alive: list[Worker] = []
        # References the list, not self, so that workers end with an unused encoder.
        weakref.finalize(self, _end, self.alive, self._process)

    def close(self) -> None:
        """Stop all of them; the next run starts new ones."""
        _end(self.alive, self._process)

    def run(self, jobs: Iterator[Job], reading: Reading = OUTPUTS) -> Answers:
        """Yield (rows, logits or vectors) for each (rows, batch), in the order of completion.

        Raises:
            DeviceError: no worker is left, or one batch ended two workers.
            MpirError: the error that a worker returned.
        """
        if self._process != os.getpid():  # a fork of the process that owns the workers
            self._begin()
        with self._turn, ThreadPoolExecutor(len(self._settings)) as threads:
            try:
                if not self.alive:
                    self._start(threads)
                yield from self._share(jobs, reading, threads)
            except BaseException:  # including an interrupt
                self.close()  # a worker that is still busy would answer an old request
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
        if worker in self.alive:  # not closed by another thread
            self.alive.remove(worker)
        how = worker.end()
        if attempt >= ATTEMPTS or not self.alive:
            raise DeviceError(
                f"the worker process on {worker.name} ended ({how}) and {len(self.alive)} of {len(self._settings)} are "
                "left; if memory ran out, lower tokens_per_batch or name fewer devices, and run it again."
            )
        log.warning("the worker process on %s ended (%s); the others do its work", worker.name, how)


def _end(workers: list[Worker], process: int) -> None:
    """End the workers of a process, but not from a fork of it."""
    while workers and process == os.getpid():
        workers.pop().end()


def batch_message(sequences: Sequence[TokenSequence], reading: Reading) -> BatchMessage:
    """A batch for another process, as three arrays, which are transferred faster than hundreds."""
    ids, type_ids = (np.concatenate([tokens[i] for tokens in sequences]) for i in (0, 1))
    return reading, ids, type_ids, np.cumsum([len(tokens.ids) for tokens in sequences])[:-1]


def run_message(encoder: Any, message: BatchMessage) -> F32:
    """The results for a batch that `batch_message` made. Raises as `DeviceModel.run`, which computes them."""
    reading, ids, type_ids, ends = message
    sequences = zip(np.split(ids, ends), np.split(type_ids, ends), strict=True)
    results: F32 = encoder.device_model.run([TokenSequence(*sequence) for sequence in sequences], reading)
    return results


def serve() -> None:
    """Run a worker: load the encoder described by the first message, then run batches until the input ends.

    It ends in silence with the process that started it, also in the middle of a message or an answer.
    """
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # printed text must not mix with the answers
    encoder = None
    with suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            encoder, answer = _answer(encoder, pickle.load(requests))
            content = memoryview(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))
            while content:
                content = content[answers.write(content) :]


def _answer(encoder: Any, message: Any) -> tuple[Any, Any]:
    """Return a worker's encoder, and its answer: None for the first message, then results, or the error to raise."""
    try:
        return (_make_in_worker(*message), None) if encoder is None else (encoder, run_message(encoder, message))
    except Exception as error:  # the parent process raises it
        error.add_note("".join(traceback.format_exception(error)))
        return encoder, error


def _make_in_worker(make: Callable[..., Any], settings: Mapping[str, Any], threads: int) -> Any:
    import torch

    if settings["device"].startswith("cpu"):
        torch.set_num_threads(threads)
    encoder = make(**settings)
    _ = encoder.model
    return encoder
