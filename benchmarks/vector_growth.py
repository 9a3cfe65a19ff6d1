"""Measure the growth of a vector index: build time, size, memory, speed and recall, from 1,000 to 1,000,000 vectors.

    python benchmarks/vector_growth.py --indexes runs/dense/nfcorpus/dense runs/dense/med/dense

The vectors come from flat dense indexes, repeated as needed with noise and renormalised, so that none occurs twice.
Queries are some of them with further noise. Indexes are built from a file of the vectors and searched as in mpir: in
segments of 8,192 documents, mapped from disk. Building and searching have separate processes; their peak memory
includes pages of mapped files, which the system can reclaim. Seconds are processor time. HNSW, which is slow to build,
and the peer, faiss with everything in memory, are measured up to --others-up-to vectors. The last rows are linear
extrapolations from the two largest sizes.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from measure import Worker, describe, helper, machine, table

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.files.write import write_json
from mpir.search.dense import DenseIndex, from_vectors
from mpir.search.dense import faiss_backend as engine
from mpir.search.dense.faiss_backend import faiss
from mpir.types import F32

SIZES = (1_000, 10_000, 60_000, 1_000_000)
PEER = "Flat, faiss alone"
FACTORIES = {"Flat": "", "SQ8": "", "IVF64,SQ8": "nprobe=8", "PQ48": "", "HNSW32": "efSearch=128", PEER: ""}
BOUNDED = ("HNSW32", PEER)
FEWEST = {"IVF64,SQ8": 2_496, "PQ48": 9_984}
"""Vectors that faiss wants to train a kind on: 39 for each of its centroids."""
PIECE, QUERIES, NOISE, DEPTHS, PAPER = 50_000, 50, 0.02, (10, 100), 36_000_000
Floats, Rows = npt.NDArray[np.float32], npt.NDArray[np.int64]


def main() -> int:
    """Read arguments, measure, print, write."""
    parser = script_parser(__doc__)
    parser.add_argument("--indexes", nargs="+", type=file_path, required=True, help="flat dense indexes of one encoder")
    parser.add_argument("--sizes", nargs="+", type=positive, default=list(SIZES), help="vectors (%(default)s)")
    parser.add_argument("--kinds", nargs="+", choices=FACTORIES, default=list(FACTORIES), help="default: all")
    parser.add_argument("--others-up-to", type=int, default=60_000, metavar="N", help="vectors (%(default)s)")
    parser.add_argument("--threads", type=positive, default=1, help="%(default)s")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    return guarded("vector_growth", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """A row for each size and kind."""
    check_figures(arguments)
    facts, figures = machine(arguments.threads), []
    base = np.concatenate([vectors for folder in arguments.indexes for vectors in stored(folder)])
    queries = with_noise(base[:: max(1, len(base) // QUERIES)][:QUERIES], 0)
    for size in arguments.sizes:
        with TemporaryDirectory() as folder:
            exact = write_vectors(base, size, queries, Path(folder) / "vectors.npy")
            for factory in arguments.kinds:
                if FEWEST.get(factory, 0) <= size and (size <= arguments.others_up_to or factory not in BOUNDED):
                    costs = measured(factory, Path(folder), queries, exact, threads=arguments.threads)
                    figures.append({"vectors": size, "kind": factory, **costs})
                    print(*row(figures[-1]), sep="\t", file=sys.stderr)
    print(describe(facts))
    peaks = "peak MiB building", "peak MiB searching"
    heads = ("vectors", "kind", "built, s", "bytes a vector", *peaks, "queries/s", *(f"recall@{k}" for k in DEPTHS))
    print(table([row(figure) for figure in [*figures, *on_paper(figures)]], heads))
    if arguments.json:
        write_json(arguments.json, {"machine": facts, "rows": figures})
    return 0


def write_vectors(base: Floats, size: int, queries: Floats, path: Path) -> Rows:
    """Write so many vectors, one piece in memory; the exact nearest (Q, k) of each query."""
    file = np.lib.format.open_memmap(path, "w+", np.float32, (size, base.shape[1]))
    k, begin = min(max(DEPTHS), size), 0
    best, best_rows = np.full((len(queries), k), -np.inf), np.zeros((len(queries), k), np.int64)
    for piece in pieces(base, size):
        file[begin : begin + len(piece)] = piece
        scores = np.concatenate([best, queries @ piece.T], axis=1)
        rows = np.concatenate([best_rows, np.tile(np.arange(begin, begin + len(piece)), (len(queries), 1))], axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        best, best_rows = (np.take_along_axis(array, order, axis=1) for array in (scores, rows))
        begin += len(piece)
    file.flush()
    return best_rows


def pieces(base: Floats, size: int) -> Iterator[Floats]:
    """Make this number of vectors from the base's."""
    for begin in range(0, size, PIECE):
        rows = np.arange(begin, min(begin + PIECE, size))
        yield base[rows] if rows[-1] < len(base) else with_noise(base[rows % len(base)], begin + 1)


def with_noise(vectors: Floats, seed: int) -> Floats:
    """Vectors of length 1 near others."""
    moved = vectors + np.random.default_rng(seed).normal(scale=NOISE, size=vectors.shape).astype(np.float32)
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def measured(factory: str, folder: Path, queries: Floats, exact: Rows, *, threads: int) -> dict[str, Any]:
    """Measure one kind of index."""
    with Worker(helper, threads=threads) as builder:
        make = build_alone if factory == PEER else build
        seconds, size = builder.call(make, folder / "vectors.npy", folder / "index", factory).value
        building = builder.peak_mib()
    search = (searcher_alone,) if factory == PEER else (searcher, FACTORIES[factory])
    with Worker(search[0], folder / "index", *search[1:], threads=threads) as worker:
        worker.call(queries)  # pages come from the disk the first time
        retrieved, searching = worker.call(queries).value
        costs = {"built_seconds": seconds, "bytes_per_vector": size, "building_mib": building}
        costs |= {"searching_mib": worker.peak_mib(), "queries_per_second": len(queries) / searching}
    shutil.rmtree(folder / "index")
    return costs | {f"recall@{k}": overlap(retrieved, exact, k) for k in DEPTHS}


def build(vectors: Path, folder: Path, factory: str) -> tuple[float, float]:
    """Make an index; the processor's seconds, and bytes a vector on the disk."""
    began, count = time.process_time(), len(np.load(vectors, mmap_mode="r", allow_pickle=False))
    from_vectors(vectors, [f"{i:08d}" for i in range(count)], folder, factory=factory)
    size = sum(path.stat().st_size for path in folder.rglob("*.faiss"))
    return time.process_time() - began, size / count


def searcher(folder: Path, parameters: str) -> Callable[[Floats], tuple[Rows, float]]:
    """Opens an index; the places (Q, k) that a search finds, and the processor's seconds it took."""
    index = DenseIndex(folder, parameters=parameters)

    def search(queries: Floats) -> tuple[Rows, float]:
        began = time.process_time()
        hit_lists = index.search_vectors(queries, max(DEPTHS))
        seconds = max(time.process_time() - began, 1e-9)
        rows = np.full((len(queries), max(DEPTHS)), -1)  # an IVF index may find less
        for row, hits in enumerate(hit_lists):
            rows[row, : len(hits)] = [int(hit.id) for hit in hits]
        return rows, seconds

    return search


def build_alone(vectors: Path, folder: Path, factory: str) -> tuple[float, float]:
    """The peer's index of them: the whole file in memory at once."""
    began, values = time.process_time(), np.load(vectors, allow_pickle=False)
    index = faiss().IndexFlatIP(values.shape[1])
    index.add(values)
    folder.mkdir()
    faiss().write_index(index, str(folder / "index"))
    return time.process_time() - began, (folder / "index").stat().st_size / len(values)


def searcher_alone(folder: Path) -> Callable[[Floats], tuple[Rows, float]]:
    """The peer's index, read into memory."""
    index = faiss().read_index(str(folder / "index"))

    def search(queries: Floats) -> tuple[Rows, float]:
        began = time.process_time()
        neighbours = index.search(queries, max(DEPTHS))[1]
        return neighbours, max(time.process_time() - began, 1e-9)

    return search


def on_paper(figures: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Extrapolate a kind of index to PubMed from its two largest sizes."""
    rows = []
    for factory in FACTORIES:
        same = [figure for figure in figures if figure["kind"] == factory][-2:]
        if len(same) == 2 and factory not in BOUNDED:
            rows.append({"kind": f"{factory}, on paper"} | extended(*same))
    return rows


def extended(small: dict[str, Any], large: dict[str, Any]) -> dict[str, Any]:
    """A straight line through two sizes."""

    def at(value: Callable[[dict[str, Any]], float]) -> float:
        slope = (value(large) - value(small)) / (large["vectors"] - small["vectors"])
        return value(large) + slope * (PAPER - large["vectors"])

    return {
        "vectors": PAPER,
        "built_seconds": at(lambda figure: figure["built_seconds"]),
        "bytes_per_vector": large["bytes_per_vector"],
        "queries_per_second": 1 / at(lambda figure: 1 / figure["queries_per_second"]),
    }


def row(figure: dict[str, Any]) -> tuple[str, ...]:
    """A row of the table."""
    shares = (f"{figure[f'recall@{k}']:.3f}" if f"recall@{k}" in figure else "" for k in DEPTHS)
    sizes = "bytes_per_vector", "building_mib", "searching_mib"
    peaks = (f"{figure[name]:,.0f}" if name in figure else "" for name in sizes)
    speed = f"{figure['queries_per_second']:,.2f}"
    return f"{figure['vectors']:,}", figure["kind"], f"{figure['built_seconds']:,.1f}", *peaks, speed, *shares


def stored(folder: Path) -> Iterator[F32]:
    """The vectors (N, W) of an index, segment by segment."""
    for segment in DenseIndex(folder).store.segments:
        yield engine.reconstruct(segment.index, np.arange(segment.index.ntotal))


def overlap(hits: npt.NDArray[np.int64], exact: npt.NDArray[np.int64], k: int) -> float:
    """The mean share of the exact k nearest that are among the first k hits."""
    shares = [len(set(near[:k]) & set(true[:k])) / k for near, true in zip(hits, exact, strict=True)]
    return float(np.mean(shares))


if __name__ == "__main__":
    sys.exit(main())
