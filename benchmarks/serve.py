"""Load on loopback: `mpir serve` against a plain FastAPI around sentence-transformers' CrossEncoder.

    python benchmarks/serve.py --json serve.json

The plain server has the same weights, cut out of the bundle as one fp32 checkpoint for each perspective, and calls
`predict` once for each with all sentences of a request; so it ranks by the same scores, added up. The two servers run
one after the other, each in a process of its own with the same threads. Clients are threads that send a request as soon
as the last one is answered; all requests differ. No score cache is used.

Figures for each number of clients and documents: requests per second, and the 50th, 95th and 99th percentile of the
latency. `errors` must be 0. With --memory N, N requests more are sent to mpir, and `memory` has the server's resident
MiB after the first tenth and at the end.
"""

from __future__ import annotations

import argparse
import itertools
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np
import psutil
from measure import THREAD_VARIABLES, default_threads, machine, table
from peers import cut_outputs
from workload import read_asked, read_documents

from mpir.cli import guarded
from mpir.io.write import write_json
from mpir.text import Document, Question

HERE = Path(__file__).parent


def main() -> int:
    """Measure and show; 0 is the exit status, 1 where a request failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default="default")
    parser.add_argument(
        "--data", type=Path, help="folder of BioASQ and PubMed (default: the sample that ships with mpir)"
    )
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--documents", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--seconds", type=float, default=30.0, help="for each of the loads (%(default)s)")
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--memory", type=int, default=0, metavar="N", help="requests more, to see memory stay level")
    parser.add_argument("--json", metavar="FILE")
    return run(parser.parse_args())


def run(arguments: argparse.Namespace) -> int:
    """All loads on both servers."""
    documents, asked = read_documents(arguments.data), read_asked(arguments.data)
    found: dict[str, Any] = {"machine": machine(arguments.threads), "loads": []}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        for name, command in commands(arguments.bundle, folder):
            with serving(command, arguments.threads) as (process, url):
                for clients, count in itertools.product(arguments.clients, arguments.documents):
                    bodies = requests(asked, documents, count)
                    figures = load(url, bodies, clients, arguments.seconds)
                    found["loads"].append({"server": name, "clients": clients, "documents": count, **figures})
                if name == "mpir" and arguments.memory:
                    found["memory"] = memory(process, url, requests(asked, documents, 10), arguments.memory)
    columns = ("server", "clients", "documents", "requests/s", "p50 ms", "p95 ms", "p99 ms", "errors")
    print(table([[str(row[name]) for name in columns] for row in found["loads"]], columns))
    if arguments.json:
        write_json(arguments.json, found)
    return int(any(row["errors"] for row in found["loads"]))


def commands(bundle: str, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The two servers, by name; the port is what is missing."""
    yield "mpir", [sys.executable, "-m", "mpir", "serve", "--bundle", bundle, "--port"]
    checkpoints = map(str, cut_outputs(bundle, str(folder)))
    code = f"import sys; sys.path.insert(0, {str(HERE)!r}); import plain_server; "
    yield "plain", [sys.executable, "-c", f"{code}plain_server.main(int(sys.argv[1]), {list(checkpoints)!r})"]


@contextmanager
def serving(command: list[str], threads: int) -> Iterator[tuple[psutil.Process, str]]:
    """A server that is ready, and its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), "MPIR_API_KEY": ""}
    with subprocess.Popen([*command, str(port)], env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            wait(url, process)
            yield psutil.Process(process.pid), url
        finally:
            process.terminate()


def wait(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until the server is ready. Raises RuntimeError where it ends instead."""
    while process.poll() is None:
        try:
            if httpx.get(f"{url}/ready").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise RuntimeError(f"{process.args}: ended with status {process.returncode}")


def requests(asked: Sequence[Question], documents: Sequence[Document], count: int) -> Iterator[dict[str, Any]]:
    """Requests without end, each with `count` documents drawn from the corpus."""
    draw = np.random.default_rng(0)
    while True:
        question = asked[draw.integers(len(asked))]
        chosen = draw.choice(len(documents), count, replace=count > len(documents))
        yield {"query": question.body, "documents": [documents[number].text for number in chosen]}


def load(url: str, bodies: Iterator[dict[str, Any]], clients: int, seconds: float) -> dict[str, Any]:
    """What so many clients see, for so long."""
    lock, latencies, errors = threading.Lock(), [], 0
    begin = time.perf_counter()

    def client(_: int) -> int:
        failed = 0
        with httpx.Client(timeout=600) as connection:
            while time.perf_counter() - begin < seconds:
                with lock:
                    body = next(bodies)
                start = time.perf_counter()
                failed += connection.post(f"{url}/v1/rerank", json=body).status_code != 200
                latencies.append(time.perf_counter() - start)
        return failed

    with ThreadPoolExecutor(clients) as pool:
        errors = sum(pool.map(client, range(clients)))
    took = time.perf_counter() - begin
    p50, p95, p99 = np.round(1000 * np.percentile(latencies, [50, 95, 99])).astype(int).tolist()
    rate = round(len(latencies) / took, 2)
    return {"requests/s": rate, "p50 ms": p50, "p95 ms": p95, "p99 ms": p99, "errors": errors}


def memory(process: psutil.Process, url: str, bodies: Iterator[dict[str, Any]], count: int) -> dict[str, float]:
    """The server's resident MiB after the first tenth of so many requests, and after all of them."""
    found = {}
    with httpx.Client(timeout=600) as connection:
        for number, body in enumerate(itertools.islice(bodies, count), 1):
            connection.post(f"{url}/v1/rerank", json=body).raise_for_status()
            if number in (count // 10, count):
                found[f"after {number}"] = round(process.memory_info().rss / 2**20, 1)
    return found


if __name__ == "__main__":
    sys.exit(guarded("benchmark", main))
