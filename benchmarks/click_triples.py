"""Training triples from many made-up queries: processor time and peak memory of data_scripts/triples.py.

    python benchmarks/click_triples.py --queries 100000 --candidates 50

Every query has so many candidates in a TREC run, and two clicks and an unclicked judgement among them. The run and the
judgements are written first and are not timed; the script runs in a process of its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from measure import table

from mpir.cli import guarded
from mpir.cli.number_options import positive
from mpir.errors import InputError, MpirError
from mpir.io.write import atomic_write

SCRIPT = Path(__file__).parents[1] / "data_scripts/triples.py"
JUDGED = ((3, 1), (11, 0), (17, 2))
"""The candidates that were judged, and their grades."""


def main() -> int:
    """Read arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=positive, default=100_000, help="(%(default)s)")
    parser.add_argument("--candidates", type=positive, default=50, help="of each query (%(default)s)")
    return guarded("click_triples", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """Make up, sample, print."""
    least = max(place for place, _ in JUDGED) + 1
    if arguments.queries < 1 or arguments.candidates < least:
        raise InputError(f"--queries wants at least 1 and --candidates at least {least}.")
    with TemporaryDirectory() as name:
        folder = Path(name)
        made_up(folder, arguments.queries, arguments.candidates)
        files = ["--run", folder / "run", "--qrels", folder / "qrels", "--output", folder / "triples.tsv"]
        done = subprocess.run([str(part) for part in (sys.executable, SCRIPT, *files)], check=False)
        if done.returncode:
            raise MpirError("the triples could not be sampled; see the message above.")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        size = (folder / "triples.tsv").stat().st_size / 2**20
    row = (
        f"{arguments.queries:,}",
        f"{used.ru_utime + used.ru_stime:.0f}",
        f"{used.ru_maxrss / 2**10:.0f}",
        f"{size:.0f}",
    )
    print(table([row], ("queries", "processor seconds", "peak MiB", "MiB of triples")))
    return 0


def made_up(folder: Path, queries: int, candidates: int) -> None:
    """A run and judgements: query n has the documents from 7n on."""

    def ranked() -> Iterator[str]:
        for n in range(queries):
            yield from (
                f"{n} Q0 {7 * n + place} {place + 1} {candidates - place} made-up\n" for place in range(candidates)
            )

    with atomic_write(folder / "run") as stream:
        stream.writelines(ranked())
    with atomic_write(folder / "qrels") as stream:
        stream.writelines(f"{n} 0 {7 * n + place} {grade}\n" for n in range(queries) for place, grade in JUDGED)


if __name__ == "__main__":
    sys.exit(main())
