"""Kinds of vector index on the same vectors: what they find of what an exact search finds, their size and their speed.

    python benchmarks/vector_index.py --indexes runs/dense/nfcorpus/dense runs/dense/med/dense

The vectors are those of flat dense indexes. Queries are 300 of them with a little noise, so that the nearest document
is known to be near. Speed and building are in seconds of one processor.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tabulate import tabulate

from mpir.cli import guarded
from mpir.cli.path_options import text_path
from mpir.retrieve.dense import DenseIndex
from mpir.retrieve.dense import faiss_backend as engine
from mpir.types import F32

KINDS = {
    "Flat": "",
    "SQfp16": "",
    "SQ8": "",
    "IVF64,Flat": "nprobe=8",
    "IVF64,SQ8": "nprobe=8",
    "HNSW32": "efSearch=128",
}
QUERIES, NOISE, DEPTHS = 300, 0.02, (10, 100)


def main() -> int:
    """Read arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--indexes", type=text_path, nargs="+", required=True, help="flat dense indexes of one encoder")
    parser.add_argument("--seed", type=int, default=0)
    return guarded("vector_index", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """A row for each kind."""
    engine.faiss().omp_set_num_threads(1)
    vectors = np.concatenate([part for folder in arguments.indexes for part in stored(Path(folder))])
    generator = np.random.default_rng(arguments.seed)
    chosen = vectors[generator.choice(len(vectors), QUERIES, replace=len(vectors) < QUERIES)]
    queries = chosen + generator.normal(scale=NOISE, size=chosen.shape).astype(np.float32)
    exact = built(vectors, "Flat").search(queries, max(DEPTHS))[1]
    rows = [measured(kind, parameters, vectors, queries, exact) for kind, parameters in KINDS.items()]
    heads = ["kind", "parameters", *(f"of the {k} nearest" for k in DEPTHS), "bytes a vector", "built, s", "queries/s"]
    print(f"{len(vectors)} vectors of width {vectors.shape[1]}\n")
    print(tabulate(rows, heads, floatfmt=(".3f",) * 4 + (".0f", ".2f", ".0f"), tablefmt="github"))
    return 0


def stored(folder: Path) -> Iterator[F32]:
    """The vectors of an index, segment by segment."""
    for segment in DenseIndex(folder).segments:
        yield engine.reconstruct(segment.index, np.arange(segment.index.ntotal))


def built(vectors: F32, kind: str) -> Any:
    """An index of that kind."""
    index = engine.empty_index(vectors.shape[1], kind)
    engine.train(index, vectors, kind)
    index.add(vectors)
    return index


def measured(kind: str, parameters: str, vectors: F32, queries: F32, exact: npt.NDArray[np.int64]) -> list[object]:
    """What one kind finds, takes and costs."""
    started = time.process_time()
    index = built(vectors, kind)
    building = time.process_time() - started
    engine.set_parameters(index, parameters)
    started = time.process_time()
    found = index.search(queries, max(DEPTHS))[1]
    seconds = max(time.process_time() - started, 1e-9)
    size = len(engine.faiss().serialize_index(index)) / len(vectors)
    return [kind, parameters, *(overlap(found, exact, k) for k in DEPTHS), size, building, len(queries) / seconds]


def overlap(found: npt.NDArray[np.int64], exact: npt.NDArray[np.int64], k: int) -> float:
    """The mean share of the exact k nearest that are among the k found."""
    shares = [len(set(one[:k]) & set(other[:k])) / k for one, other in zip(found, exact, strict=True)]
    return float(np.mean(shares))


if __name__ == "__main__":
    sys.exit(main())
