"""How fast bundles score the same pairs: a smaller model, three models, one of your own, against the first one named.

python benchmarks/bundles.py default runs/small/bundle --data ../shared/data
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from measure import alternate, default_threads, describe, machine, show, spread, start_all, table
from workload import Pair, make_pairs, read_asked, read_documents

from mpir.cli import guarded
from mpir.io.write import write_json


def main() -> int:
    """Score in turns, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", nargs="+", metavar="DIR|NAME", help="bundles; ratios are to the first")
    parser.add_argument("--data", type=Path, help="folder with bioasq/ and pubmed/ (default: the sample)")
    parser.add_argument("--pairs", type=int, default=1024, help="default: 1,024")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--threads", type=int, default=default_threads(), help="of each (default: all cores)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    return guarded("bundles", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole benchmark."""
    facts, data = machine(arguments.threads), arguments.data
    pairs = make_pairs(read_asked(data), read_documents(data, 500, partial=False), arguments.pairs)
    with ExitStack() as stack:
        contenders = {name: (scorer, name) for name in arguments.bundles}
        workers, _, notes = start_all(stack, contenders, arguments.threads, pairs[:16])
        timed = alternate(workers, arguments.rounds, pairs)
        peaks = {name: worker.peak_mib() for name, worker in workers.items()}
    rates = {name: [len(pairs) / one.seconds for one in found] for name, found in timed.items()}
    first = next(iter(rates.values()), [])
    figures = {
        name: {
            "ratio": spread(one / other for one, other in zip(found, first, strict=True)),
            "pairs_per_second": spread(found),
            "peak_mib": peaks[name],
        }
        for name, found in rates.items()
    }
    print(describe(facts), *notes, sep="\n")
    rows = [
        (name, show(one["ratio"], 2), show(one["pairs_per_second"]), f"{one['peak_mib']:,.0f}")
        for name, one in figures.items()
    ]
    print(table(rows, ("bundle", "ratio", "pairs/s", "peak MiB")))
    if arguments.json:
        write_json(arguments.json, {"machine": facts, "bundles": figures})
    return 0


def scorer(bundle: str) -> Callable[[Sequence[Pair]], None]:
    """Prepare a bundle; what is timed scores pairs with all of its perspectives."""
    from mpir.perspectives import open_bundle, score_pairs

    perspectives = open_bundle(bundle).perspectives()

    def score(pairs: Sequence[Pair]) -> None:
        score_pairs(perspectives, pairs)

    return score


if __name__ == "__main__":
    sys.exit(main())
