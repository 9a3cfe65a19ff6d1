"""Measure one-bit codes with rescoring: recall on real vectors, then build, memory and speed at the size of PubMed.

    python benchmarks/codes.py --indexes runs/dense/med/dense runs/dense/scifact/dense --queries med.tsv scifact.tsv
    python benchmarks/codes.py --indexes … --queries … --synthetic 36000000 --folder /big/disk

The first table compares codes with `Flat` on each index: the signs of the vectors without their mean (Hamming
distance), and RaBitQ, each with N vectors read for rescoring; RaBitQ with 1,000 is the kind `binary`.

With --synthetic, the second table is of so many synthetic vectors: x + w·y of two random real vectors and a random w
below 1, scaled to length 1, so that mean, spectrum and clusters are like those of real vectors and none occurs twice.
They go to the index as they are made; the exact nearest of the first queries are found on the way. A search reads
queries from memory. Cold is the first search for each in a fresh process, after the pages of the index were dropped;
warm is the second. Only the resident memory that belongs to the process counts: pages of mapped files can be dropped
at any time.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from measure import Worker, describe, drop_pages, helper, machine, table
from vector_growth import stored

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.first_stage import DEFAULT, open_encoder
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.errors import InputError
from mpir.files.corpora.queries import read_queries
from mpir.files.write import write_json
from mpir.search.dense import DenseIndex, from_vectors, read_dense_info
from mpir.search.dense.faiss_backend import BINARY, faiss
from mpir.search.dense.vector_files import VectorPart, from_parts

DEPTH, RESCORED, EXACT, PIECE, FIRST_ID = 100, (500, 1000, 2000), 50, 65_536, 10_000_000
Floats, Rows = npt.NDArray[np.float32], npt.NDArray[np.int64]


def main() -> int:
    """Read arguments, measure, print, write."""
    parser = script_parser(__doc__)
    parser.add_argument("--indexes", nargs="+", type=file_path, required=True, help="flat dense indexes of one encoder")
    parser.add_argument("--queries", nargs="+", type=file_path, required=True, help="a file of queries for each index")
    parser.add_argument("--synthetic", type=positive, help="synthetic vectors of the second table")
    parser.add_argument("--folder", type=file_path, help="where their index goes, and stays (default: a temporary one)")
    parser.add_argument("--searches", type=positive, default=100, help="queries to time (%(default)s)")
    parser.add_argument("--threads", type=positive, default=2, help="%(default)s")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    return guarded("codes", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """Print both tables."""
    check_figures(arguments)
    bases = [np.concatenate(list(stored(folder))) for folder in arguments.indexes]
    if len(arguments.queries) != len(arguments.indexes):
        raise InputError(
            f"--queries: {len(arguments.queries)} files for {len(arguments.indexes)} indexes; give one for each."
        )
    queries = [query_vectors(*pair) for pair in zip(arguments.queries, arguments.indexes, strict=True)]
    result: dict[str, Any] = {"machine": machine(arguments.threads), "command": sys.argv, "real": []}
    print(describe(result["machine"]))
    for folder, base, asked in zip(arguments.indexes, bases, queries, strict=True):
        result["real"] += [{"index": folder.parent.name or folder.name, **row} for row in compared(base, asked)]
    rows = [[*(str(value) for value in list(row.values())[:4]), f"{row['recall']:.4f}"] for row in result["real"]]
    print(table(rows, ("index", "vectors", "codes", "rescored", f"recall@{DEPTH}")), flush=True)
    if arguments.synthetic:
        holder: Any = TemporaryDirectory(prefix="mpir-codes-")
        with nullcontext(arguments.folder) if arguments.folder else holder as folder:
            result["large"] = large(Path(folder), np.concatenate(bases), np.concatenate(queries), arguments)
        print(table([[name, f"{value:,.3f}"] for name, value in result["large"].items()], ("figure", "value")))
    if arguments.json:
        write_json(arguments.json, result)
    return 0


def query_vectors(path: Path, index: Path) -> Floats:
    """The vectors (Q, W) of a file's queries by an index's encoder."""
    with Worker(helper) as worker:
        return np.asarray(
            worker.call(_encoded, path, read_dense_info(index).source.get("encoder", DEFAULT)).value, np.float32
        )


def _encoded(path: Path, name: str) -> Floats:
    encoder, texts = open_encoder(name), [text for _, text in read_queries(path)]
    vectors, query_of = getattr(encoder, "query_vectors", encoder.vectors)(texts)
    return np.asarray(vectors[np.searchsorted(query_of, np.arange(len(texts)))])


def compared(base: Floats, queries: Floats) -> Iterator[dict[str, Any]]:
    """The recall of each kind of code."""
    exact, mean = nearest(base, queries, DEPTH), base.mean(axis=0)
    bits = [np.packbits(vectors > 0, axis=1) for vectors in (base - mean, queries - mean)]
    with TemporaryDirectory() as folder:
        from_vectors(base, [f"{i:08d}" for i in range(len(base))], Path(folder) / "i", factory=BINARY)
        for rescored in (count for count in RESCORED if count <= len(base)):
            rows = faiss().knn_hamming(bits[1], bits[0], rescored)[1]
            best = [
                row[np.argsort(-(base[row] @ query), kind="stable")] for row, query in zip(rows, queries, strict=True)
            ]
            yield row_of(base, "signs, Hamming", rescored, np.array(best), exact)
            with DenseIndex(Path(folder) / "i", parameters=f"rescored={rescored}") as index:
                yield row_of(base, "RaBitQ", rescored, search(index, queries), exact)


def row_of(base: Floats, kind: str, rescored: int, rows: Rows, exact: Rows) -> dict[str, Any]:
    """A row of the first table."""
    return {"vectors": len(base), "codes": kind, "rescored": rescored, "recall": recall(rows, exact)}


def search(index: DenseIndex, queries: Floats) -> Rows:
    """The numbers (Q, DEPTH) of the nearest vectors by the index's own search."""
    hits = index.search_vectors(queries, DEPTH)
    return np.array([[int(document.id) for document in documents] for documents in hits])


def nearest(base: Floats, queries: Floats, k: int) -> Rows:
    """The exact nearest (Q, k)."""
    return np.argsort(-(queries @ base.T), axis=1, kind="stable")[:, :k]


def recall(rows: Rows, exact: Rows) -> float:
    """The mean share of the exact nearest among the rows."""
    return float(
        np.mean([len({*a[:DEPTH].tolist()} & {*b.tolist()}) / len(b) for a, b in zip(rows, exact, strict=True)])
    )


def large(folder: Path, base: Floats, queries: Floats, arguments: argparse.Namespace) -> dict[str, float]:
    """Build the index of synthetic vectors, and search it."""
    target, count = folder / "codes", arguments.synthetic
    queries = np.random.default_rng(1).permutation(queries)[: arguments.searches]
    with Worker(helper, threads=arguments.threads) as worker:
        figures = worker.call(build, target, base, queries[:EXACT], count).value
        exact = figures.pop("exact")
        figures["building_peak_mib"] = worker.peak_mib()
    figures |= searched(target, queries, exact, arguments.threads)
    return {"vectors": count, **figures}


def searched(target: Path, queries: Floats, exact: Rows, threads: int) -> dict[str, float]:
    """Open an index in a fresh process, and search it."""
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    figures = {"disk_gib": size / 2**30}
    for name, batch in (("one", 1), ("eight", 8)):
        drop_pages(target)
        with Worker(searcher, target, threads=threads) as worker:
            opening, found = worker.started, worker.call(queries, exact, batch).value
            figures |= {f"{name}_{key}": value for key, value in {"opening_s": opening, **found}.items()}
    return figures


def build(target: Path, base: Floats, queries: Floats, count: int) -> dict[str, Any]:
    """Index synthetic vectors as they are made; seconds without the making, and the exact nearest of queries."""
    making = {"seconds": 0.0, "processor": 0.0}
    best = Best(queries)

    def parts() -> Iterator[VectorPart]:
        for begin in range(0, count, PIECE):
            start, processor = time.perf_counter(), time.process_time()
            rows = synthetic(base, min(PIECE, count - begin), begin)
            best.add(rows, begin)
            names = [str(FIRST_ID + number) for number in range(begin, begin + len(rows))]
            making["seconds"] += time.perf_counter() - start
            making["processor"] += time.process_time() - processor
            yield VectorPart("synthetic", rows, names)

    start, processor = time.perf_counter(), time.process_time()
    from_parts(parts(), target, factory=BINARY)
    elapsed, used = time.perf_counter() - start, time.process_time() - processor
    times = {"built_s": elapsed - making["seconds"], "built_processor_s": used - making["processor"]}
    return {**times, "exact": best.rows}


def synthetic(base: Floats, count: int, seed: int) -> Floats:
    """Make vectors (count, W) of length 1 from pairs of real ones."""
    generator = np.random.default_rng(seed)
    first, second = generator.integers(0, len(base), (2, count))
    vectors = base[second]
    vectors *= generator.random((count, 1), np.float32)
    vectors += base[first]
    vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    return vectors


class Best:
    """The exact nearest vectors of queries among all pieces so far."""

    def __init__(self, queries: Floats) -> None:
        """Begin without any."""
        self.queries = queries
        self.scores = np.full((len(queries), DEPTH), -np.inf, np.float32)
        self.rows = np.zeros((len(queries), DEPTH), np.int64)

    def add(self, piece: Floats, begin: int) -> None:
        """Compare a piece whose first vector has the number `begin`."""
        scores = self.queries @ piece.T
        for number, (values, bound) in enumerate(zip(scores, self.scores[:, -1], strict=True)):
            better = np.flatnonzero(values > bound)
            merged = np.concatenate([self.scores[number], values[better]])
            rows = np.concatenate([self.rows[number], better + begin])
            order = np.argsort(-merged, kind="stable")[:DEPTH]
            self.scores[number], self.rows[number] = merged[order], rows[order]


def searcher(target: Path) -> Callable[[Floats, Rows, int], dict[str, float]]:
    """Opens the index; times searches and compares their results with the exact ones."""
    faiss().omp_set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    index = DenseIndex(target)

    def timed(queries: Floats, exact: Rows, batch: int) -> dict[str, float]:
        figures: dict[str, float] = {}
        for name in ("cold", "warm"):
            found = times(lambda rows: index.search_vectors(rows, DEPTH), queries, batch)
            figures |= {f"{name}_{key}": value for key, value in found.items()}
        figures["recall"] = recall(search(index, queries[: len(exact)]) - FIRST_ID, exact)
        return figures | {"resident_mib": resident("RssAnon"), "resident_with_mapped_files_mib": resident("VmRSS")}

    return timed


def times(search_rows: Callable[[Floats], Any], queries: Floats, batch: int) -> dict[str, float]:
    """Milliseconds of searches with so many queries at once, and of the processor for each."""
    elapsed, began = [], time.process_time()
    batches = [queries[begin : begin + batch] for begin in range(0, len(queries) - batch + 1, batch)]
    for rows in batches:
        start = time.perf_counter()
        search_rows(rows)
        elapsed.append(1000 * (time.perf_counter() - start))
    processor = 1000 * (time.process_time() - began) / max(1, len(batches))
    p50, p95 = np.percentile(elapsed, [50, 95]).tolist() if elapsed else (0.0, 0.0)
    return {"p50_ms": p50, "p95_ms": p95, "processor_ms": processor}


def resident(name: str) -> float:
    """The process's resident memory of a kind, in MiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


if __name__ == "__main__":
    sys.exit(main())
