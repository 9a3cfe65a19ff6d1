"""Streaming triples: time and memory to check and read files of growing length, with texts looked up by id.

    python benchmarks/triples.py --triples 10000 100000 1000000

The texts are synthetic: 20,000 passages of 200 letters and 5,000 questions; rows draw from them at random. Every length
has its own process, whose peak memory is compared with that of the shortest: it should not grow with the rows.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from measure import Worker, describe, machine, table

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.files.write import write_json

PASSAGES, QUESTIONS, LETTERS, SIZE, BATCHES = 20_000, 5_000, 200, 24, 2_000


def main() -> int:
    """Read arguments, measure, print, write."""
    parser = script_parser(__doc__)
    parser.add_argument("--triples", nargs="+", type=positive, default=[10_000, 100_000, 1_000_000], help="%(default)s")
    parser.add_argument("--threads", type=positive, default=1, help="%(default)s")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    return guarded("triples", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """A row for each length."""
    check_figures(arguments)
    facts, figures = machine(arguments.threads), []
    with TemporaryDirectory() as folder:
        os.environ["MPIR_CACHE"] = folder  # the database of texts goes there
        write_texts(Path(folder))
        for count in arguments.triples:
            write_triples(Path(folder) / "triples.tsv", count)
            with Worker(checked, folder, threads=arguments.threads) as worker:
                costs = worker.call().value
                figures.append({"triples": count, **costs, "peak_mib": worker.peak_mib()})
    rows = [
        (
            f"{worker['triples']:,}",
            f"{worker['check_seconds']:.1f}",
            f"{worker['batch_seconds']:.2f}",
            f"{worker['peak_mib']:,.0f}",
            f"{worker['peak_mib'] - figures[0]['peak_mib']:+,.0f}",
        )
        for worker in figures
    ]
    print(describe(facts))
    heads = ("triples", "checked, s of processor time", f"{BATCHES:,} batches, s", "peak MiB", "than the shortest")
    print(table(rows, heads))
    if arguments.json:
        write_json(arguments.json, {"machine": facts, "rows": figures})
    return 0


def write_texts(folder: Path) -> None:
    """The passages and questions that ids stand for."""
    letters = np.random.default_rng(0).integers(97, 123, (PASSAGES, LETTERS), dtype=np.uint8)
    letters[:, ::7] = ord(" ")
    with open(folder / "collection.tsv", "w", encoding="ascii") as stream:
        stream.writelines(f"{i}\t{row.tobytes().decode('ascii')}.\n" for i, row in enumerate(letters))
    with open(folder / "queries.tsv", "w", encoding="ascii") as stream:
        stream.writelines(f"{i}\twhat is number {i}\n" for i in range(QUESTIONS))


def write_triples(path: Path, count: int) -> None:
    """Rows of ids."""
    generator = np.random.default_rng(1)
    with open(path, "w", encoding="ascii") as stream:
        for begin in range(0, count, 100_000):
            rows = min(100_000, count - begin)
            columns = (generator.integers(0, limit, rows) for limit in (QUESTIONS, PASSAGES, PASSAGES))
            stream.writelines(
                f"{question}\t{positive}\t{negative}\n" for question, positive, negative in zip(*columns, strict=True)
            )


def checked(folder: str) -> Callable[[], dict[str, Any]]:
    """Opens the file as a training run does; what checking it and reading batches takes."""
    from mpir.lab.train.triples import TripleFile

    def work() -> dict[str, Any]:
        began = time.process_time()
        texts = {"questions": f"{folder}/queries.tsv", "corpus": [f"{folder}/collection.tsv"]}
        triples = TripleFile(f"{folder}/triples.tsv", **texts)
        middle = time.process_time()
        for number in range(BATCHES):
            triples.batch(number, SIZE, seed=1)
        return {"check_seconds": middle - began, "batch_seconds": time.process_time() - middle}

    return work


if __name__ == "__main__":
    sys.exit(main())
