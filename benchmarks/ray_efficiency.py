"""Measure Ray's cost: sentences per second of actors and of the plain loop, overhead per task, memory per actor.

    python benchmarks/ray_efficiency.py --data DATA

Each contender has a fresh process and scores the same batches of questions' sentences, after one batch for each worker
to warm up; starting Ray and loading models are timed apart. A worker has one thread. The efficiency of W workers is
their speed divided by that of the plain loop with W threads. The overhead is the time of a task that returns its batch.
"""

from __future__ import annotations

import argparse
import operator
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from measure import Worker, describe, machine, table
from workload import read_asked, read_documents

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.core.candidates import Candidates
from mpir.files.write import write_json

EMPTY_TASKS = 200


def main() -> int:
    """Measure, print and write."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, help="folder with bioasq/ and pubmed/ (default: mpir's sample)")
    parser.add_argument("--bundle", type=text_path, default="default", help="mpir's bundle (%(default)s)")
    parser.add_argument("--batches", type=positive, default=16, help="tasks (%(default)s)")
    parser.add_argument("--sentences", type=positive, default=256, help="of a task, at least (%(default)s)")
    parser.add_argument("--workers", type=positive, nargs="+", default=[1, 2], help="(%(default)s)")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="write the figures")
    return guarded("ray_efficiency", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """The whole benchmark, from arguments to exit status."""
    check_figures(arguments)
    result: dict[str, Any] = {"machine": machine(max(arguments.workers)), "command": sys.argv, "contenders": {}}
    work = (arguments.bundle, arguments.data, arguments.batches, arguments.sentences)
    for count in arguments.workers:
        for name, prepare, threads in (
            ("plain", plain_loop, count),
            ("Ray Core", actor_pool, 1),
            ("Ray Data", ray_data, 1),
        ):
            with Worker(prepare, count, *work, threads=threads) as worker:
                result["contenders"][f"{name}, {count}"] = {**worker.call().value, "peak_mib": worker.peak_mib()}
    for name, row in result["contenders"].items():
        plain = result["contenders"][f"plain, {name.rpartition(' ')[2]}"]
        row["speed"] = row["sentences"] / row["seconds"]
        row["efficiency"] = row["speed"] * plain["seconds"] / plain["sentences"]
    report(result)
    if arguments.json:
        write_json(arguments.json, result)
    return 0


def reranker_of(bundle: str, sentences: int) -> Callable[[], Any]:
    """Return what opens a reranker that scores so many sentences together."""
    from mpir import Reranker, RunOptions

    run = RunOptions(pairs_at_once=sentences, cascade="all")
    return partial(Reranker, bundle, device="cpu", precision="fp32", run=run)


def batches_of(reranker: Any, data: Path | None, count: int) -> tuple[list[list[Candidates]], int]:
    """Return batches of prepared candidates and the number of their sentences, repeating inputs if needed."""
    documents, questions = read_documents(data, 2000), read_asked(data)
    lists = cycle(documents[begin : begin + 20] for begin in range(0, len(documents), 20))
    queries = cycle(question.body for question in questions)
    batches = list(islice(reranker.prepared_batches(queries, lists), count))
    return batches, sum(len(candidates.sentences) for batch in batches for candidates in batch)


def plain_loop(
    workers: int, bundle: str, data: Path | None, count: int, sentences: int
) -> Callable[[], dict[str, Any]]:
    """One process with as many threads as there are workers elsewhere."""
    from mpir.lab.ray.actor_jobs import score_batch

    begin = time.perf_counter()
    reranker = reranker_of(bundle, sentences)()
    batches, total = batches_of(reranker, data, count)
    score_batch(reranker, batches[0])
    loading = time.perf_counter() - begin

    def measure() -> dict[str, Any]:
        seconds = timed(lambda: [score_batch(reranker, batch) for batch in batches])
        return {"loading": loading, "seconds": seconds, "sentences": total}

    return measure


def actor_pool(
    workers: int, bundle: str, data: Path | None, count: int, sentences: int
) -> Callable[[], dict[str, Any]]:
    """mpir's pool on a Ray that is started here."""
    from mpir.lab.ray.actor_jobs import scoring_job
    from mpir.lab.ray.actor_pool import ActorJob, ActorPool
    from mpir.lab.ray.ray_cluster import cluster

    load = reranker_of(bundle, sentences)  # workers cannot import this script's own functions
    reranker = load()
    batches, total = batches_of(reranker, data, count)

    def measure() -> dict[str, Any]:
        begin = time.perf_counter()
        with cluster("local") as ray:
            result: dict[str, Any] = {"start": time.perf_counter() - begin, "sentences": total}
            pool = ActorPool(ray, scoring_job(reranker, load), workers=workers)
            result["loading"] = timed(lambda: list(pool.map(batches[:1] * 2 * workers)))
            result["seconds"] = timed(lambda: list(pool.map(batches)))
            result["actor_mib"] = actor_mib()
            echo = ActorJob(load=dict, work=operator.or_, identify=dict, identity={})
            pool = ActorPool(ray, echo, workers=workers)
            tasks = [{"batch": batches[0]}] * EMPTY_TASKS
            list(pool.map(tasks[: 2 * workers]))
            result["task_ms"] = 1000 * timed(lambda: list(pool.map(tasks))) / EMPTY_TASKS
            result["task_kib"] = len(pickle.dumps(batches[0])) / 1024
        return result

    return measure


class DataScorer:
    """A stage of Ray Data, which holds a reranker. Its rows are numbers of batches in Ray's object store."""

    def __init__(self, bundle: str, references: Sequence[Any]) -> None:
        """Load the bundle."""
        import torch

        from mpir import Reranker, RunOptions

        torch.set_num_threads(1)
        self.reranker = Reranker(bundle, device="cpu", precision="fp32", run=RunOptions(cascade="all"))
        self.references = references

    def __call__(self, rows: dict[str, Any]) -> dict[str, Any]:
        """Score the one batch of a block."""
        import ray

        from mpir.lab.ray.actor_jobs import score_batch

        scored = score_batch(self.reranker, ray.get(self.references[rows["number"][0]]))
        return {"scored": [pickle.dumps(scored)]}


def ray_data(workers: int, bundle: str, data: Path | None, count: int, sentences: int) -> Callable[[], dict[str, Any]]:
    """Score the batches with `map_batches` of Ray Data, which starts new actors for each run."""
    import ray.cloudpickle
    import ray.data

    from mpir.lab.ray.ray_cluster import cluster

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    batches, total = batches_of(reranker_of(bundle, sentences)(), data, count)
    batches = [*batches[:1] * workers, *batches]
    items = [{"number": number} for number in range(len(batches))]

    def measure() -> dict[str, Any]:
        begin = time.perf_counter()
        with cluster("local") as connected:
            started = time.perf_counter() - begin
            ray.data.DataContext.get_current().enable_progress_bars = False
            stage = {"batch_size": 1, "num_cpus": 1, "compute": ray.data.ActorPoolStrategy(size=workers)}
            scored = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
                DataScorer, fn_constructor_args=(bundle, [connected.put(batch) for batch in batches]), **stage
            )
            times = [time.perf_counter() for _ in scored.iter_rows()]
        result = {"start": started, "loading": times[workers - 1] - begin - started, "sentences": total}
        return {**result, "seconds": times[-1] - times[workers - 1]}

    return measure


def timed(job: Callable[[], object]) -> float:
    """Return the seconds of a job."""
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


def actor_mib() -> float:
    """The most memory that an actor of a pool has had, in MiB, shared pages included."""
    peaks = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(b"ray::ModelActor"):
                (line,) = (line for line in (folder / "status").read_text().splitlines() if line.startswith("VmHWM"))
                peaks.append(int(line.split()[1]) / 1024)
        except OSError:
            continue
    return max(peaks, default=0.0)


def report(result: dict[str, Any]) -> None:
    """A row for each contender."""
    print(f"\n{describe(result['machine'])}\n")
    names = ("speed", "efficiency", "start", "loading", "actor_mib", "task_ms", "task_kib")
    rows: list[Sequence[Any]] = [
        [name, *(f"{row[key]:,.2f}" if key in row else "" for key in names)]
        for name, row in result["contenders"].items()
    ]
    heads = ["contender, workers", "sentences/s", "efficiency", "start of Ray, s", "loading, s", "MiB of an actor"]
    print(table(rows, [*heads, "ms of an empty task", "its KiB"]))


if __name__ == "__main__":
    sys.exit(main())
