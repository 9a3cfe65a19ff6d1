"""The table of `mpir benchmark` for collections that do not need ir_datasets: SciFact, NFCorpus, MED.

python -m experiments.ranking.models_table --data DATA --model mpir/bundles/default/model --set model.output=3
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.common.test_sets import FOLDERS, READERS
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.model_options import add_model_options, model_arguments
from mpir.app.cli.value_options import file_path, positive, text_path
from mpir.evaluate.benchmark import run_benchmark
from mpir.evaluate.collections import Collection, find_candidates, judged_queries

SETS = ("scifact", "nfcorpus", "med")


def main() -> int:
    """Read arguments, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with scifact/, nfcorpus/, med/")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="default: all")
    parser.add_argument("--limit", type=positive, default=50, metavar="N", help="queries of each (%(default)s)")
    parser.add_argument("--depth", type=positive, default=20, metavar="N", help="candidates of a query (%(default)s)")
    parser.add_argument("--encoder", dest="encoders", type=text_path, action="append", default=[], help="as mpir's")
    add_model_options(parser, weights=False)
    arguments = parser.parse_args()
    return guarded("models_table", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Measure on each collection."""
    for name in arguments.sets:
        result = run_benchmark(
            open_set(name, arguments.data, arguments.limit, arguments.depth),
            model_arguments(arguments).named_models(arguments.encoders),
            bundle=arguments.bundle,
            device=arguments.device,
            precision=arguments.precision,
        )
        print(result.to_markdown(), flush=True)
    return 0


def open_set(name: str, data: Path, limit: int, depth: int) -> Collection:
    """The first queries of a collection, with BM25's best documents of each."""
    test = READERS[name](data / FOLDERS.get(name, name))
    queries = judged_queries(test.queries.items(), test.qrels, test.name, limit)
    candidates = find_candidates(test.documents, queries, depth)
    return Collection(name=test.name, queries=queries, candidates=candidates, qrels=test.qrels, first_stage="BM25")


if __name__ == "__main__":
    raise SystemExit(main())
