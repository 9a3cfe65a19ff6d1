"""Searches a second of one Lucene index that 1, 2, 4 and 8 threads share, and how many of their answers are wrong.

    python benchmarks/search_threads.py --data DATA --json search-threads.json

Without --data it runs on the sample that ships with mpir. Numbers of threads take turns, round by round, after a round
to warm up; in each round, all threads together send the same searches. A search is wrong if its documents, their order,
texts or scores differ from those of one thread before; each is compared. `together` is one call of `search_batch` with
as many threads of Java.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measure import describe, machine, show, spread, table
from workload import corpus_files, read_asked

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.core.text import Document
from mpir.files.corpora import read_corpus
from mpir.files.write import write_json
from mpir.search import LuceneIndex, build_index

Results = list[list[Document]]
K = 10


def main() -> int:
    """Measure, print and write."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, help="folder with bioasq/ and pubmed/ (default: mpir's sample)")
    parser.add_argument("--searches", type=positive, default=10_000, help="of a round (%(default)s)")
    parser.add_argument("--threads", nargs="+", type=positive, default=[1, 2, 4, 8], help="%(default)s")
    parser.add_argument("--rounds", type=positive, default=3, help="%(default)s")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="write the figures")
    return guarded("search_threads", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """Build the index, measure, and print a row for each number of threads; 1 if an answer was wrong."""
    check_figures(arguments)
    facts = machine(max(arguments.threads))
    asked = [question.body for question in read_asked(arguments.data)]
    queries = list(islice(cycle(asked), arguments.searches))
    with TemporaryDirectory(prefix="mpir-threads-") as folder:
        build_index(read_corpus(corpus_files(arguments.data, partial=False)), Path(folder) / "index")
        with LuceneIndex(Path(folder) / "index") as index:
            rows, documents = measured(index, queries, asked, arguments), len(index)
    print(f"{describe(facts)}\n{documents:,} documents, {len(asked)} different queries, {len(queries):,} searches.\n")
    cells = [
        (row["threads"], show(row["one_by_one"]), show(row["together"]), f"{row['wrong']} of {row['compared']:,}")
        for row in rows
    ]
    print(table(cells, ("threads", "searches a second, one by one", "together", "wrong")))
    if arguments.json:
        result = {"machine": facts, "command": sys.argv, "documents": documents, "queries": len(asked), "rows": rows}
        write_json(arguments.json, result)
    return int(any(row["wrong"] for row in rows))


def measured(
    index: LuceneIndex, queries: Sequence[str], asked: Sequence[str], arguments: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return a row for each number of threads."""
    expected = {query: index.search(query, K) for query in asked}
    rates: dict[tuple[int, str], list[float]] = {}
    compared, wrong = dict.fromkeys(arguments.threads, 0), dict.fromkeys(arguments.threads, 0)
    for number in range(-1, arguments.rounds):
        for threads in arguments.threads:
            for way, search in WAYS.items():
                started = time.perf_counter()
                results = search(index, queries, threads)
                rate = len(queries) / (time.perf_counter() - started)
                if number >= 0:
                    rates.setdefault((threads, way), []).append(rate)
                compared[threads] += len(queries)
                wrong[threads] += sum(result != expected[query] for query, result in zip(queries, results, strict=True))
    return [
        {"threads": threads, "compared": compared[threads], "wrong": wrong[threads]}
        | {way: spread(rates[threads, way]) for way in WAYS}
        for threads in arguments.threads
    ]


def one_by_one(index: LuceneIndex, queries: Sequence[str], threads: int) -> Results:
    """Search once for each query, from so many threads."""
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda query: index.search(query, K), queries))


def together(index: LuceneIndex, queries: Sequence[str], threads: int) -> Results:
    """Search for all queries in one call."""
    return index.search_batch(queries, K, threads=threads)


WAYS: dict[str, Callable[[LuceneIndex, Sequence[str], int], Results]] = {"one_by_one": one_by_one, "together": together}


if __name__ == "__main__":
    sys.exit(main())
