"""Compare the speed of bundles with that of the first one named.

python benchmarks/bundles.py default fast --data DATA
python benchmarks/bundles.py default fast --data DATA --precision fp32    # as on a CPU without bfloat16

Two things are timed: scoring pairs with all sentence perspectives in one call, and `Reranker.rerank` of whole
documents, which also computes their vectors and BM25 scores.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from measure import Timed, alternate, default_threads, describe, machine, show, spread, start_all, table
from workload import make_pairs, read_asked, read_documents

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.files.write import write_json

QUESTIONS = 5
"""Consecutive calls of `rerank`, each with different documents."""
Call = Callable[[str, Sequence[Any]], None]


def main() -> int:
    """Score and rerank in turns, print, write."""
    parser = script_parser(__doc__)
    parser.add_argument(
        "bundles", type=text_path, nargs="+", metavar="DIR|NAME", help="bundles; ratios are to the first"
    )
    parser.add_argument("--data", type=file_path, help="folder with bioasq/ and pubmed/ (default: the sample)")
    parser.add_argument("--pairs", type=positive, default=1024, help="default: 1,024")
    parser.add_argument("--documents", type=positive, default=30, help="documents per rerank (default: 30)")
    parser.add_argument("--precision", default="auto", help="auto, fp32 or bf16 (default: auto)")
    parser.add_argument("--rounds", type=positive, default=3, help="default: 3")
    parser.add_argument(
        "--threads", type=positive, default=default_threads(), help="threads per process (default: all cores)"
    )
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    return guarded("bundles", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole benchmark."""
    check_figures(arguments)
    facts, questions = machine(arguments.threads), read_asked(arguments.data)
    documents = read_documents(arguments.data, 500, partial=False)
    pairs = make_pairs(questions, documents, arguments.pairs)
    calls = [
        (question.body, documents[number * arguments.documents :][: arguments.documents])
        for number, question in enumerate(questions[:QUESTIONS])
    ]
    with ExitStack() as stack:
        contenders = {name: (prepare, name, arguments.precision) for name in arguments.bundles}
        workers, _, notes = start_all(stack, contenders, arguments.threads, "pairs", pairs[:16])
        scored = alternate(workers, arguments.rounds, "pairs", pairs)
        reranked = alternate(workers, arguments.rounds, "documents", calls)
        peaks = {name: worker.peak_mib() for name, worker in workers.items()}
    rates, request_rates = (
        per_second(scored, len(pairs)),
        per_second(reranked, sum(len(documents) for _, documents in calls)),
    )
    figures = {
        name: {
            "ratio": ratio(rates, name),
            "pairs_per_second": spread(rates[name]),
            "rerank_ratio": ratio(request_rates, name),
            "documents_per_second": spread(request_rates[name]),
            "peak_mib": peaks[name],
        }
        for name in rates
    }
    print(describe(facts), *notes, sep="\n")
    rows = [
        (
            name,
            *(show(values[key], 2) for key in ("ratio", "rerank_ratio")),
            *(show(values[key], 0) for key in ("pairs_per_second", "documents_per_second")),
            f"{values['peak_mib']:,.0f}",
        )
        for name, values in figures.items()
    ]
    print(table(rows, ("bundle", "pairs, ratio", "rerank, ratio", "pairs/s", "documents/s", "peak MiB")))
    if arguments.json:
        write_json(arguments.json, {"machine": facts, "precision": arguments.precision, "bundles": figures})
    return 0


def per_second(timed: Mapping[str, Sequence[Timed]], count: int) -> dict[str, list[float]]:
    """Return items per second for `count` items, round by round."""
    return {name: [count / turn.seconds for turn in turns] for name, turns in timed.items()}


def ratio(rates: Mapping[str, Sequence[float]], name: str) -> dict[str, float]:
    """Return speed relative to the first contender, round by round."""
    first = next(iter(rates.values()))
    return spread(rate / first_rate for rate, first_rate in zip(rates[name], first, strict=True))


def prepare(bundle: str, precision: str) -> Call:
    """Load a bundle, and return the timed function: scoring pairs by sentence perspectives, or reranking."""
    from mpir import Reranker, RunOptions
    from mpir.models.perspectives import score_pairs

    reranker = Reranker(bundle, precision=precision, run=RunOptions(cascade="all"))
    sentences = [perspective for perspective in reranker.perspectives if perspective.level == "sentence"]

    def call(label: str, calls: Sequence[Any]) -> None:
        if label == "pairs":
            score_pairs(sentences, calls)
            return
        for question, documents in calls:
            reranker.rerank(question, documents)
        reranker.close()  # so that the next round computes the documents' vectors again

    return call


if __name__ == "__main__":
    sys.exit(main())
