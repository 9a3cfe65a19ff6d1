"""Load on loopback: `mpir serve` against a plain FastAPI around sentence-transformers' CrossEncoder.

    python benchmarks/serve.py --json serve.json
    python benchmarks/serve.py --memory 10000 --documents 1 --sentences 1

The plain server has the same weights, extracted from the bundle as one fp32 checkpoint per perspective, and calls
`predict` once for each with all sentences of a request, so it ranks by the sum of the same scores. The two servers run
one after the other, each in its own process with the same threads. Clients are threads that send a request as soon as
the last one is answered; all requests differ. No score cache is used.

Figures for each number of clients and documents: requests per second, and the 50th, 95th and 99th percentile of the
latency. `errors` must be 0. --sentences N shortens documents, for slow machines: the plain server takes minutes for 32
requests of 100 abstracts on two cores. With --memory N, only mpir is started; the largest number of clients sends it N
requests with the fewest documents, and `memory` has the server's resident MiB after each tenth of them.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import shlex
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np
import psutil
from measure import THREAD_VARIABLES, ContenderError, default_threads, machine, table
from peers import cut_outputs
from workload import read_asked, read_documents

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.core.text import Document, Question
from mpir.core.text.split import sentences
from mpir.files.write import write_json

FOLDER = Path(__file__).parent


def main() -> int:
    """Measure and show; 0 is the exit status, 1 where a request failed."""
    parser = script_parser(__doc__)
    parser.add_argument("--bundle", type=text_path, default="default")
    parser.add_argument(
        "--data", type=file_path, help="folder of BioASQ and PubMed (default: the sample that ships with mpir)"
    )
    parser.add_argument("--clients", type=positive, nargs="+", default=[1, 8, 32])
    parser.add_argument("--documents", type=positive, nargs="+", default=[10, 100])
    parser.add_argument(
        "--sentences", type=positive, metavar="N", help="use only each document's first N (default: all)"
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="duration of each load (%(default)s)")
    parser.add_argument("--threads", type=positive, default=default_threads())
    parser.add_argument("--memory", type=positive, metavar="N", help="instead, track memory over N requests to mpir")
    parser.add_argument("--json", type=text_path, metavar="FILE")
    return run(parser.parse_args())


def run(arguments: argparse.Namespace) -> int:
    """All loads on both servers, or one of them for a long time."""
    check_figures(arguments)
    documents = [shortened(document, arguments.sentences) for document in read_documents(arguments.data)]
    questions, measure = read_asked(arguments.data), all_loads if arguments.memory is None else memory
    result = {"machine": machine(arguments.threads), **measure(arguments, questions, documents)}
    if arguments.json:
        write_json(arguments.json, result)
    return int(any(row["errors"] for row in result.get("loads", ())))


def all_loads(
    arguments: argparse.Namespace, questions: Sequence[Question], documents: Sequence[Document]
) -> dict[str, Any]:
    """Measure both servers for all numbers of clients and documents."""
    loads = []
    with TemporaryDirectory() as folder:
        for name, command in commands(arguments.bundle, Path(folder)):
            with serving(command, arguments.threads) as (_, url):
                for clients, count in itertools.product(arguments.clients, arguments.documents):
                    figures = load(url, requests(questions, documents, count), clients, arguments.seconds)
                    loads.append({"server": name, "clients": clients, "documents": count, **figures})
    columns = ("server", "clients", "documents", "requests/s", "p50 ms", "p95 ms", "p99 ms", "errors")
    print(table([[str(row[name]) for name in columns] for row in loads], columns))
    return {"loads": loads}


def shortened(document: Document, count: int | None) -> Document:
    """A document of the first sentences of its text."""
    if count is None:
        return document
    return Document(document.id, abstract=" ".join(sentence.text for sentence in sentences(document)[:count]))


def commands(bundle: str, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Return the commands of both servers by name, without the port."""
    yield "mpir", [sys.executable, "-m", "mpir", "serve", "--bundle", bundle, "--set", "serve.timeout=600", "--port"]
    checkpoints = map(str, cut_outputs(bundle, str(folder)))
    code = f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import plain_server; "
    yield "plain", [sys.executable, "-c", f"{code}plain_server.main(int(sys.argv[1]), {list(checkpoints)!r})"]


@contextlib.contextmanager
def serving(command: list[str], threads: int) -> Iterator[tuple[psutil.Process, str]]:
    """A server that is ready, and its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}
    environment.pop("MPIR_API_KEY", None)
    with subprocess.Popen([*command, str(port)], env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            wait(url, process)
            yield psutil.Process(process.pid), url
        finally:
            process.terminate()


def wait(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until the server is ready. Raises ContenderError where it ends instead."""
    while process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/ready").status_code == 200:
                return
        time.sleep(0.2)
    command = shlex.join(map(str, process.args)) if isinstance(process.args, list) else process.args
    raise ContenderError(f"the server ended with status {process.returncode}; see why with `{command}`.")


def requests(questions: Sequence[Question], documents: Sequence[Document], count: int) -> Iterator[dict[str, Any]]:
    """Requests without end, each with `count` documents drawn from the corpus."""
    draw = np.random.default_rng(0)
    while True:
        question = questions[draw.integers(len(questions))]
        chosen = draw.choice(len(documents), count, replace=count > len(documents))
        yield {"query": question.body, "documents": [documents[number].text for number in chosen]}


def load(url: str, bodies: Iterator[dict[str, Any]], clients: int, seconds: float) -> dict[str, Any]:
    """Measure latencies of concurrent clients for some seconds, or for at least one request each."""
    lock, ready, latencies, begin = threading.Lock(), threading.Barrier(clients), [], 0.0

    def client(_: int) -> int:
        nonlocal begin
        failed = 0
        with httpx.Client(timeout=600, verify=False) as connection:
            ready.wait()
            begin = begin or time.perf_counter()
            while True:
                with lock:
                    body = next(bodies)
                start = time.perf_counter()
                failed += connection.post(f"{url}/v1/rerank", json=body).status_code != 200
                latencies.append(time.perf_counter() - start)
                if time.perf_counter() - begin > seconds:
                    return failed

    with ThreadPoolExecutor(clients) as pool:
        errors = sum(pool.map(client, range(clients)))
    took = time.perf_counter() - begin
    p50, p95, p99 = np.round(1000 * np.percentile(latencies, [50, 95, 99])).astype(int).tolist()
    rate = round(len(latencies) / took, 2)
    return {"requests/s": rate, "p50 ms": p50, "p95 ms": p95, "p99 ms": p99, "errors": errors}


def memory(
    arguments: argparse.Namespace, questions: Sequence[Question], documents: Sequence[Document]
) -> dict[str, Any]:
    """mpir's resident MiB after each tenth of so many requests. Raises httpx.HTTPStatusError where one is refused."""
    bodies = itertools.islice(requests(questions, documents, min(arguments.documents)), arguments.memory)
    numbers, peaks, lock = itertools.count(1), {}, threading.Lock()
    tenths = {arguments.memory * tenth // 10 for tenth in range(1, 11)}
    name, command = next(commands(arguments.bundle, Path()))
    with serving(command, arguments.threads) as (process, url):

        def client(_: int) -> None:
            with httpx.Client(timeout=600, verify=False) as connection:
                while True:
                    with lock:
                        body = next(bodies, None)
                    if body is None:
                        return
                    connection.post(f"{url}/v1/rerank", json=body).raise_for_status()
                    with lock:
                        if (number := next(numbers)) in tenths:
                            peaks[number] = round(process.memory_info().rss / 2**20, 1)

        with ThreadPoolExecutor(max(arguments.clients)) as pool:
            list(pool.map(client, range(max(arguments.clients))))
    print(table([[str(number), str(mib)] for number, mib in peaks.items()], (f"requests to {name}", "MiB")))
    return {"memory": peaks}


if __name__ == "__main__":
    sys.exit(guarded("benchmark", main))
