"""A soak: `mpir serve` under mixed load on loopback for a long time, with its memory, latency and errors.

    python benchmarks/soak.py --data DATA --minutes 30 --json soak.json --plot docs/images/soak.png

A request is sent every 1/--rate seconds, whether or not earlier ones are answered. Of 20 requests, 16 rank documents,
two are wrong in one of four ways and must be refused with a status from 400 to 499, one is given up by its client
after 50 ms, and one asks for the server's metrics. Anything else counts as an error. Each request differs, and no
score cache is used. Memory is that of the server's process and its children, once a second; rows are minutes, or
tenths of a shorter run.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
from measure import default_threads, describe, machine, table
from serve import commands, requests, serving
from workload import read_asked, read_documents

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.files.output_checks import check_replaceable_file, is_picture
from mpir.files.write import atomic_write, write_json

GIVE_UP_AFTER = 0.05
CLIENTS = 32
MOST_REQUESTS = 100_000
PATTERN = (*["rank"] * 8, "wrong", "cancelled", *["rank"] * 8, "wrong", "metrics")
WRONG = (b"{", b"[]", b'{"query": "no documents"}', b'{"query": 7, "documents": ["a"]}')


@dataclass(frozen=True, slots=True)
class Answer:
    """When a request was sent, its kind, how long it took, and whether its outcome was not the expected one."""

    sent: float
    kind: str
    seconds: float
    is_error: bool


def main() -> int:
    """Measure, print and write; 1 where a request had another outcome than expected."""
    parser = script_parser(__doc__)
    parser.add_argument("--bundle", type=text_path, default="default", help="%(default)s")
    parser.add_argument("--data", type=file_path, help="folder of BioASQ and PubMed (default: mpir's sample)")
    parser.add_argument("--minutes", type=float, default=30.0, help="%(default)s")
    parser.add_argument("--rate", type=float, default=1.0, help="requests a second (%(default)s)")
    parser.add_argument("--documents", type=positive, default=5, help="documents of a request (%(default)s)")
    parser.add_argument("--threads", type=positive, default=default_threads(), help="%(default)s")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="write the figures")
    parser.add_argument("--plot", type=file_path, metavar="FILE", help="write a picture of memory and latency (PNG)")
    arguments = parser.parse_args()
    return guarded("soak", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole soak, from arguments to exit status."""
    check_figures(arguments)
    check_replaceable_file("--plot", arguments.plot, is_picture)
    facts = machine(arguments.threads)
    bodies = requests(read_asked(arguments.data), read_documents(arguments.data), arguments.documents)
    _, command = next(commands(arguments.bundle, Path()))
    with serving(command, arguments.threads) as (process, url):
        answers, memory = soak(url, process, bodies, rate=arguments.rate, seconds=60 * arguments.minutes)
    result = {"machine": facts, "command": sys.argv, **summary(answers, memory, 60 * arguments.minutes)}
    report(result)
    if arguments.json:
        write_json(arguments.json, result)
    if arguments.plot:
        draw(result["rows"], arguments.plot)
    return int(any(row["errors"] for row in result["kinds"].values()))


def soak(
    url: str, process: psutil.Process, bodies: Iterator[dict[str, Any]], *, rate: float, seconds: float
) -> tuple[list[Answer], list[tuple[float, float]]]:
    """Send requests at a steady rate; their outcomes, and the server's memory over time in (seconds, MiB)."""
    memory, begin = [], time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool, httpx.Client(base_url=url, timeout=120) as client:
        pending = []
        for number, kind in zip(range(MOST_REQUESTS), itertools.cycle(PATTERN), strict=False):
            due = begin + number / rate
            while (now := time.perf_counter()) < min(due, begin + seconds):
                memory.append((now - begin, resident_mib(process)))
                time.sleep(min(1.0, max(0.0, due - now)))
            if due >= begin + seconds:
                break
            pending.append(pool.submit(send, client, kind, next(bodies), number, due - begin))
        answers = [future.result() for future in pending]
    memory.append((time.perf_counter() - begin, resident_mib(process)))
    return answers, memory


def send(client: httpx.Client, kind: str, body: dict[str, Any], number: int, sent: float) -> Answer:
    """Send a request, and compare its outcome with the expected one."""
    begin = time.perf_counter()
    try:
        status = SENDERS[kind](client, body, number)
    except httpx.ReadTimeout:
        is_error = kind != "cancelled"
    except httpx.HTTPError:
        is_error = True
    else:
        is_error = not (400 <= status < 500 if kind == "wrong" else status == 200)
    return Answer(sent, kind, time.perf_counter() - begin, is_error)


def _wrong(client: httpx.Client, _: dict[str, Any], number: int) -> int:
    headers = {"content-type": "application/json"}
    return client.post("/v1/rerank", content=WRONG[number // 10 % len(WRONG)], headers=headers).status_code


SENDERS: dict[str, Callable[[httpx.Client, dict[str, Any], int], int]] = {
    "rank": lambda client, body, _: client.post("/v1/rerank", json=body).status_code,
    "cancelled": lambda client, body, _: client.post("/v1/rerank", json=body, timeout=GIVE_UP_AFTER).status_code,
    "metrics": lambda client, _body, _number: client.get("/metrics").status_code,
    "wrong": _wrong,
}


def resident_mib(process: psutil.Process) -> float:
    """Resident memory of a process and its children."""
    return sum(member.memory_info().rss for member in (process, *process.children(recursive=True))) / 2**20


def summary(answers: Sequence[Answer], memory: Sequence[tuple[float, float]], seconds: float) -> dict[str, Any]:
    """Figures of each kind of request, and of each minute."""
    kinds = {kind: figures([answer for answer in answers if answer.kind == kind]) for kind in SENDERS}
    step = min(60.0, seconds / 10)
    rows = []
    for begin in np.arange(0, seconds - step / 2, step).tolist():
        sent = [answer for answer in answers if begin <= answer.sent < begin + step]
        sizes = [mib for second, mib in memory if begin <= second < begin + step]
        ranked = figures([answer for answer in sent if answer.kind == "rank"])
        errors = sum(answer.is_error for answer in sent)
        rows.append({"minute": (begin + step) / 60, "mib": max(sizes, default=0.0), **ranked, "errors": errors})
    return {"kinds": kinds, "rows": rows, "mib": {"start": memory[0][1], "end": memory[-1][1]}}


def figures(answers: Sequence[Answer]) -> dict[str, float]:
    """Latency and errors of some requests."""
    latencies = [1000 * answer.seconds for answer in answers] or [0.0]
    p50, p95 = np.percentile(latencies, [50, 95]).tolist()
    errors = sum(answer.is_error for answer in answers)
    return {"requests": len(answers), "p50_ms": p50, "p95_ms": p95, "max_ms": max(latencies), "errors": errors}


def report(result: Mapping[str, Any]) -> None:
    """Kinds of requests, and memory over time."""
    print(f"\n{describe(result['machine'])}\n")
    names = ("requests", "p50_ms", "p95_ms", "max_ms", "errors")
    rows = [[kind, *(f"{row[name]:,.0f}" for name in names)] for kind, row in result["kinds"].items()]
    print(table(rows, ("requests", "count", "p50, ms", "p95, ms", "longest, ms", "errors")), end="\n\n")
    every = max(1, len(result["rows"]) // 10)
    names = ("mib", "p50_ms", "p95_ms", "errors")
    rows = [[f"{row['minute']:,.1f}", *(f"{row[n]:,.0f}" for n in names)] for row in result["rows"][every - 1 :: every]]
    print(table(rows, ("minute", "MiB", "p50, ms", "p95, ms", "errors")))
    print(f"\nMemory: {result['mib']['start']:,.0f} MiB at the start, {result['mib']['end']:,.0f} MiB at the end.")


def draw(rows: Sequence[Mapping[str, float]], path: str | Path) -> None:
    """Write a picture: the memory of the server and the latency of its rankings, minute by minute."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from mpir.evaluate.figure import STYLE

    minutes = [row["minute"] for row in rows]
    with rc_context(STYLE):
        figure = Figure(figsize=(9.0, 3.4))
        left, right = figure.subplots(1, 2)
        left.plot(minutes, [row["mib"] for row in rows])
        left.set(xlabel="minute", ylabel="resident memory, MiB", ylim=(0, None))
        right.plot(minutes, [row["p50_ms"] for row in rows], label="p50")
        right.plot(minutes, [row["p95_ms"] for row in rows], "--", label="p95")
        right.set(xlabel="minute", ylabel="latency of a ranking, ms", ylim=(0, None))
        right.legend(fontsize=8)
        with atomic_write(path, binary=True) as stream:
            figure.savefig(stream, format="png", dpi=150)


if __name__ == "__main__":
    sys.exit(main())
