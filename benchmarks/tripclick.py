"""What reranking costs with each model of experiments/tripclick/rerank.py: processor seconds and peak memory.

    python benchmarks/tripclick.py runs/standin --documents 1000

The models are those that the experiment has trained in its output folder, and the pairs are its validation rows. No
model has read a document before; "again" is the same documents once more, for those that keep what they have read.
Every model has a process of its own with one thread. Seconds are the processor's, which a busy machine changes little.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

from measure import describe, machine, start_all, table

from mpir.cli import guarded
from mpir.cli.number_options import positive
from mpir.cli.path_options import file_path
from mpir.errors import InputError
from mpir.io.read import read_json_lines

MODELS = {"tk": "TK", "colbert": "ColBERT", "colbert-wide": "ColBERT, wide", "dot": "DOT", "cat": "CAT"}
Pairs = list[tuple[str, str]]


def main() -> int:
    """Read arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=file_path, help="output of experiments/tripclick/rerank.py")
    parser.add_argument("--documents", type=positive, default=1000, help="(%(default)s)")
    parser.add_argument("--words", type=positive, help="so many words of a document are read (default: all)")
    return guarded("tripclick", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """One row for each model that is there."""
    rows = (row for _, row in read_json_lines(arguments.folder / "data/dev.jsonl"))
    pairs = [(row["question"], " ".join(row["sentence"].split()[: arguments.words])) for row in rows]
    pairs = pairs[: arguments.documents]
    bundles = {label: arguments.folder / name / "bundle" for name, label in MODELS.items()}
    there = {label: (model, str(path), pairs) for label, path in bundles.items() if (path / "bundle.json").is_file()}
    if not there:
        raise InputError(f"{arguments.folder}: holds no trained model; run experiments/tripclick/rerank.py before.")
    before = machine(1)
    with ExitStack() as stack:
        workers, _, notes = start_all(stack, there, 1, together=True)
        found = [(label, *worker.call().value, worker.peak_mib()) for label, worker in workers.items()]
    cells = [
        (label, *(f"{1000 * seconds / len(pairs):.2f}" for seconds in (first, again)), f"{peak:,.0f}")
        for label, first, again, peak in found
    ]
    print(table(cells, ("", "seconds per 1,000 documents", "again", "peak MiB")))
    print("\n".join(["", f"{len(pairs)} pairs.", describe(before), *notes]))
    return 0


def model(bundle: str, pairs: Pairs) -> Callable[[], tuple[float, float]]:
    """Gives the seconds for all pairs, and for the same ones again; the first call only loads the model."""
    from mpir.perspectives import open_bundle

    (perspective,) = open_bundle(bundle).perspectives(device="cpu")
    calls = iter([pairs[:1], pairs])

    def seconds(asked: Pairs) -> float:
        start = time.process_time()
        perspective.score_pairs(asked)
        return time.process_time() - start

    def timed() -> tuple[float, float]:
        asked = next(calls)
        return seconds(asked), seconds(asked)

    return timed


if __name__ == "__main__":
    sys.exit(main())
