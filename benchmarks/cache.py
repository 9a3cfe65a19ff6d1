"""The score cache: scores written and looked up per second, and bytes a score.

python benchmarks/cache.py --pairs 100000
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mpir.app.cli import script_parser
from mpir.app.cli.value_options import positive
from mpir.models.perspectives import ScoreCache
from mpir.models.perspectives.pair_scoring import PAIRS_AT_ONCE

PERSPECTIVES = ("relevance", "sts", "sia")


def main() -> None:
    """Fill a cache in a temporary folder part by part, read it back, and print."""
    parser = script_parser(__doc__)
    parser.add_argument("--pairs", type=positive, default=100_000, help="default: 100,000")
    count = parser.parse_args().pairs
    pairs = [
        (f"Is gene {i // 1000} mutated in cystic fibrosis?", f"Sentence {i}, " + "of an abstract " * 9)
        for i in range(count)
    ]
    values, in_passages = np.random.default_rng(0).random(count), np.zeros(count, bool)
    batches = [slice(start, start + PAIRS_AT_ONCE) for start in range(0, count, PAIRS_AT_ONCE)]
    with tempfile.TemporaryDirectory() as folder:
        cache = ScoreCache(folder, limit=2**40)
        jobs = [(name, batch) for batch in batches for name in PERSPECTIVES]
        written = seconds(
            lambda: [cache.keep(name, pairs[batch], values[batch], in_passages[batch]) for name, batch in jobs]
        )
        read = seconds(lambda: [cache.look_up(name, pairs[batch]) for name, batch in jobs])
        cache.close()
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
    total = count * len(PERSPECTIVES)
    print(f"{total:,} scores of {count:,} pairs, {size / total:.0f} bytes a score, {cache.misses} missed")
    for label, (wall, processor) in {"written": written, "looked up": read}.items():
        print(f"{label}: {total / wall:,.0f} a second, {total / processor:,.0f} a second of processor time")


def seconds(job: Callable[[], object]) -> tuple[float, float]:
    """Return the wall and processor time of a job."""
    start, processor = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - start, time.process_time() - processor


if __name__ == "__main__":
    main()
