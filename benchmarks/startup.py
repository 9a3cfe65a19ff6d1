"""From the start of a process to its first ranking: mpir, and sentence-transformers with the same weights.

    python benchmarks/startup.py --json startup.json

Each contender is a separate program, started fresh in every round, in turns, after one round that warms the disk cache:
`mpir rerank`, mpir from Python, a CrossEncoder that ranks the same sentences by one of the perspectives, and a program
that only imports torch, which all of them do. No score cache is used, and all compute in fp32 on the CPU. A ratio is
the median of the rounds' ratios, for wall time and for processor time, which a busy machine affects less.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measure import THREAD_VARIABLES, Worker, default_threads, describe, helper, machine, show, spread, table
from peers import cut_outputs
from tqdm import tqdm
from workload import read_asked, read_documents

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, positive, text_path
from mpir.core.text.split import sentences
from mpir.files.write import write_json

TORCH = "import torch"
LIBRARY = """
import json, sys
from mpir import Reranker
given = json.load(open(sys.argv[1]))
print(Reranker(sys.argv[2], device="cpu", precision="fp32").rerank(given["query"], given["documents"])[0].id)
"""
PEER = """
import json, sys
from sentence_transformers import CrossEncoder
given = json.load(open(sys.argv[1]))
print(CrossEncoder(sys.argv[2], device="cpu", trust_remote_code=False)
      .rank(given["query"], given["sentences"])[0]["corpus_id"])
"""
RATIOS = {"sentence-transformers : mpir rerank": ("sentence-transformers", "mpir rerank"),
          "sentence-transformers : mpir, Python": ("sentence-transformers", "mpir, Python"),
          "mpir rerank : import torch": ("mpir rerank", "import torch")}  # fmt: skip


def main() -> int:
    """Read arguments, measure, show."""
    parser = script_parser(__doc__)
    parser.add_argument("--bundle", type=text_path, default="default", help="mpir's bundle (%(default)s)")
    parser.add_argument("--documents", type=positive, default=5, help="documents to rank (%(default)s)")
    parser.add_argument("--rounds", type=positive, default=5, help="(%(default)s)")
    parser.add_argument("--threads", type=positive, default=default_threads(), help="(%(default)s)")
    parser.add_argument("--json", type=text_path, metavar="FILE", help="also write all figures there")
    arguments = parser.parse_args()
    return guarded("startup", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole benchmark, from arguments to exit status."""
    check_figures(arguments)
    result: dict[str, Any] = {"machine": machine(arguments.threads), "command": sys.argv, "rounds": arguments.rounds}
    with TemporaryDirectory(prefix="mpir-startup-") as folder:
        with Worker(helper, threads=arguments.threads) as worker:
            checkpoint = worker.call(cut_outputs, arguments.bundle, folder).value[0]
        programs = contenders(Path(folder), arguments.bundle, str(checkpoint), arguments.documents)
        times = in_turns(programs, arguments.rounds, arguments.threads)
    for quantity, column in (("seconds", 0), ("processor_seconds", 1)):
        result[quantity] = {name: spread(values[column] for values in each) for name, each in times.items()}
        result[f"ratios_of_{quantity}"] = {
            name: spread(a[column] / b[column] for a, b in zip(times[values], times[compared], strict=True))
            for name, (values, compared) in RATIOS.items()
        }
    _print(result)
    if arguments.json:
        write_json(arguments.json, result)
    return 0


def contenders(folder: Path, bundle: str, checkpoint: str, count: int) -> dict[str, list[str]]:
    """The program of each contender."""
    query, documents = read_asked(None)[0].body, read_documents(None, count)
    plain = [{"id": document.id, "title": document.title, "abstract": document.abstract} for document in documents]
    texts = [sentence.text for document in documents for sentence in sentences(document)]
    corpus, records_file = folder / "documents.jsonl", folder / "given.json"
    corpus.write_text("".join(json.dumps(document) + "\n" for document in plain), encoding="utf-8")
    records_file.write_text(json.dumps({"query": query, "documents": plain, "sentences": texts}), encoding="utf-8")
    rerank = [
        "rerank",
        query,
        "--docs",
        str(corpus),
        "--bundle",
        bundle,
        "--set",
        "cache.folder=none",
        "--device",
        "cpu",
    ]
    return {
        "mpir rerank": [sys.executable, "-m", "mpir", *rerank, "--precision", "fp32"],
        "mpir, Python": [sys.executable, "-c", LIBRARY, str(records_file), bundle],
        "sentence-transformers": [sys.executable, "-c", PEER, str(records_file), checkpoint],
        "import torch": [sys.executable, "-c", TORCH],
    }


def in_turns(programs: Mapping[str, Sequence[str]], rounds: int, threads: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds on the clock and on the processor of each program in each round, which starts with another one."""
    names = list(programs)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", **dict.fromkeys(THREAD_VARIABLES, str(threads))}
    with tqdm(total=len(names) * (rounds + 1), desc="starts", unit="start", disable=None) as bar:
        for number in range(-1, rounds):
            for name in names[number % len(names) :] + names[: number % len(names)]:
                duration = timed(programs[name], environment)
                if number >= 0:
                    times[name].append(duration)
                bar.update()
    return times


def timed(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds on the clock and on the processor of a program. Raises RuntimeError where it fails."""
    before, start = os.times(), time.perf_counter()
    finished = subprocess.run(command, env=dict(environment), capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - start, os.times()
    if finished.returncode:
        raise RuntimeError(f"{command[:3]} failed: {finished.stderr.strip().splitlines()[-1:]}")
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, spent


def _print(result: Mapping[str, Any]) -> None:
    print(describe(result["machine"]), end="\n\n")
    for label, prefix in (("to the first ranking", ""), ("ratio", "ratios_of_")):
        clock, processor = result[f"{prefix}seconds"], result[f"{prefix}processor_seconds"]
        rows = [[name, show(clock[name], 2), show(processor[name], 2)] for name in clock]
        print(table(rows, (label, "seconds on the clock", "on the processor")), end="\n\n")


if __name__ == "__main__":
    sys.exit(main())
