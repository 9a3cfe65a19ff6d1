"""Fair measurement: contenders in separate processes take turns; medians, ranges and peak memory are reported.

A contender is a function that prepares (loads a model, opens an index) and returns the function to be timed. Its
process starts fresh, with the same number of threads as every other, and sleeps while the others run.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from threading import Lock
from types import TracebackType
from typing import Any

from tabulate import tabulate
from tqdm import tqdm

from mpir.errors import MpirError

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
PACKAGES = ("mpir", "torch", "transformers", "sentence-transformers", "rerankers", "bm25s", "pyserini", "numpy")
Prepare = Callable[..., Callable[..., Any]]
SLOWEST = 10
"""A contender that takes so many times as long as the fastest in a probe is left out."""
_STARTING = Lock()
"""A process takes its threads from the environment, which belongs to one at a time."""


class ContenderError(MpirError, RuntimeError):
    """A contender failed; the message is its own, which the command line shows as one sentence."""


@dataclass(frozen=True, slots=True)
class Timed:
    """Return a call's result, and its seconds in a fresh process."""

    seconds: float
    value: Any


class Worker:
    """A contender in a fresh process. Use it in a `with` block."""

    def __init__(self, prepare: Prepare, *arguments: Any, threads: int = 1) -> None:
        """Start the process and prepare; `started` has the seconds that took, from before the process was there.

        Raises:
            ContenderError: the contender failed; the message is its own.
        """
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, prepare, arguments))
        with _STARTING:
            start = time.perf_counter()
            before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
            os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
            try:
                self._process.start()
            finally:
                _restore(before)
            theirs.close()
        try:
            self._receive()
        except RuntimeError:
            self.close()
            raise
        self.started = time.perf_counter() - start

    def call(self, *arguments: Any) -> Timed:
        """Run the timed function once. Raises ContenderError with the contender's message if it failed."""
        self._pipe.send(arguments)
        return Timed(*self._receive())

    def peak_mib(self) -> float:
        """The most memory the process held so far, with the processes it started, in MiB."""
        self._pipe.send(None)
        return float(self._receive()[1])

    def _receive(self) -> tuple[float, Any]:
        try:
            failure, seconds, value = self._pipe.recv()
        except EOFError:
            self._process.join()
            failure = f"its process ended with status {self._process.exitcode}"
        if failure:
            raise ContenderError(failure)
        return seconds, value

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()


def _serve(pipe: Any, prepare: Prepare, arguments: Sequence[Any]) -> None:
    """The worker's side: prepare, then answer calls until the pipe closes."""
    try:
        run = prepare(*arguments)
        pipe.send(("", 0.0, None))
        while True:
            request = pipe.recv()
            if request is None:
                pipe.send(("", 0.0, _peak_mib()))
                continue
            start = time.perf_counter()
            value = run(*request)
            pipe.send(("", time.perf_counter() - start, value))
    except EOFError:
        return
    except Exception as error:
        reason = (str(error) or type(error).__name__).strip().splitlines()[0]
        pipe.send((f"{type(error).__name__}: {reason}", 0.0, None))


def helper() -> Callable[..., Any]:
    """Prepares nothing and runs any function: ``Worker(helper).call(function, *arguments)``.

    What needs torch is done in such a process, so that the measuring one stays small and idle.
    """
    return lambda function, *arguments: function(*arguments)


def _restore(before: Mapping[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def fast_enough(workers: Mapping[str, Worker], *arguments: Any) -> tuple[dict[str, Worker], list[str]]:
    """The workers that take at most ten times as long for a call as the fastest, and a note for each of the others."""
    seconds = {name: worker.call(*arguments).seconds for name, worker in workers.items()}
    fastest = min(seconds.values())
    notes = [
        f"{name} is left out: {seconds[name]:.1f} s in the probe, the fastest {fastest:.1f} s"
        for name in seconds
        if seconds[name] > SLOWEST * fastest
    ]
    return {name: worker for name, worker in workers.items() if seconds[name] <= SLOWEST * fastest}, notes


def alternate(
    workers: Mapping[str, Worker], rounds: int, *arguments: Any, seconds: float = math.inf
) -> dict[str, list[Timed]]:
    """Let the workers take turns on the same call, each round starting with the next one, after a round to warm up.

    After the first round, one that would probably end later than `seconds` from the start is not begun.
    """
    names, results = list(workers), {name: [] for name in workers}
    bar = tqdm(total=len(names) * (rounds + 1), desc="turns", unit="call", disable=None)
    with bar:
        start = time.perf_counter()
        for number in range(-1, rounds):
            if number > 0 and (time.perf_counter() - start) * (number + 2) / (number + 1) > seconds:
                break
            for name in names[number % len(names) :] + names[: number % len(names)]:
                timed = workers[name].call(*arguments)
                if number >= 0:
                    results[name].append(timed)
                bar.update()
    return results


def start_all(
    stack: ExitStack, contenders: Mapping[str, Sequence[Any]], threads: int, *trial: Any, together: bool = False
) -> tuple[dict[str, Worker], dict[str, Any], list[str]]:
    """Start a worker for every (prepare, *arguments) and let it do a small trial.

    One starts after the other, so that their `started` can be compared, or all `together`, which takes less time.
    Returns the workers, what their trials gave, and a note for each that failed, which is left out.

    Raises:
        ContenderError: all of them failed.
    """
    workers, values, notes = {}, {}, []
    started = (partial(Worker, *contender, threads=threads) for contender in contenders.values())
    pool = stack.enter_context(ThreadPoolExecutor())
    begun = [pool.submit(start).result for start in started] if together else list(started)
    for name, start in zip(contenders, begun, strict=True):
        try:
            worker = stack.enter_context(start())
            values[name] = worker.call(*trial).value
            workers[name] = worker
        except RuntimeError as error:
            notes.append(f"{name} is left out: {error}")
    if not workers:
        raise ContenderError(f"nothing is left to measure: {'; '.join(notes)}")
    return workers, values, notes


def spread(values: Iterable[float]) -> dict[str, float]:
    """Median, least and most."""
    numbers = list(values)
    return {"median": median(numbers), "min": min(numbers), "max": max(numbers)}


def show(figures: Mapping[str, float], digits: int = 0) -> str:
    """A spread in a table's cell: the median (least to most)."""
    return f"{figures['median']:,.{digits}f} ({figures['min']:,.{digits}f} to {figures['max']:,.{digits}f})"


def table(rows: Iterable[Sequence[Any]], heads: Sequence[str]) -> str:
    """Format a table that is readable in a terminal and valid Markdown."""
    aligned = ("left", *["right"] * (len(heads) - 1))
    return tabulate(rows, heads, tablefmt="pipe", colalign=aligned, disable_numparse=True)


def machine(threads: int) -> dict[str, Any]:
    """Return hardware and software of the measurement."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": threads,
        "features": _features(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "load_before": round(os.getloadavg()[0], 2),
    }


def drop_pages(folder: Path) -> None:
    """Ask the system to drop the pages of all files in a folder, which no process may have open."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file() and hasattr(os, "posix_fadvise"):
            with path.open("rb") as stream:
                os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def default_threads() -> int:
    """As many threads as there are cores to run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe(facts: Mapping[str, Any]) -> str:
    """The machine in two lines."""
    packages = ", ".join(f"{name} {number}" for name, number in facts["packages"].items())
    return (
        f"{facts['processor']} ({facts['cores']} cores, {facts['threads']} threads used; {facts['features'] or '-'}), "
        f"{facts['memory_gib']} GiB; load before: {facts['load_before']}.\nPython {facts['python']}, {packages}."
    )


def _processor() -> str:
    return _cpuinfo("model name") or platform.processor() or platform.machine()


def _features() -> str:
    known_features = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
    return " ".join(name for name in known_features if name in _cpuinfo("flags").split())


def _cpuinfo(key: str) -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _peak_mib() -> float:
    """This process's peak and its children's. Linux keeps getrusage's figure over exec, so its own count is read."""
    if not Path("/proc/self/status").exists():
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes where there is no /proc (macOS)
    return sum(_high_water_kib(process) for process in _family(os.getpid())) / 2**10


def _family(process: int) -> list[int]:
    children = [
        int(child)
        for path in Path(f"/proc/{process}/task").glob("*/children")
        for child in path.read_text(encoding="ascii").split()
    ]
    return [process, *(member for child in children for member in _family(child))]


def _high_water_kib(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)
