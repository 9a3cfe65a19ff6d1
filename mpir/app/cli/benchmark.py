"""``mpir benchmark``: measure models on judged queries, alone and blended."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.model_options import add_model_options, check_options
from mpir.app.cli.number_options import positive
from mpir.app.cli.path_options import text_path
from mpir.app.cli.progress import add_quiet_option, shows_progress
from mpir.errors import InputError

if TYPE_CHECKING:
    from mpir.evaluate.collections import Collection

EPILOG = """\
Candidates are BM25's best documents for each query, or those of a TREC run. Each row is one way to order them: the
first stage, the bundle, each model alone, the first stage with the model (z-scores), and the bundle with the model,
untuned. p is from a paired randomisation test against the first stage, with Holm's correction.

examples:
  mpir benchmark --dataset beir/scifact/test --model ncbi/MedCPT-Cross-Encoder
  mpir benchmark --corpus corpus.jsonl --topics queries.jsonl --qrels test.qrels --model ./mine --model ./other
  mpir benchmark --corpus corpus.jsonl --topics topics.xml --qrels test.qrels --run bm25.trec --output results
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``benchmark``."""
    parser = subparsers.add_parser(
        "benchmark",
        help="measure models on judged queries",
        description="Measure rerankers and encoders on judged queries: alone, with the first stage, and blended.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--dataset",
        dest="datasets",
        action="append",
        default=[],
        metavar="NAME",
        help="an ir_datasets name, such as beir/scifact/test; may be given several times (extra: benchmark)",
    )
    parser.add_argument("--corpus", type=text_path, nargs="+", metavar="PATH", help="documents, instead of a --dataset")
    parser.add_argument("--topics", type=text_path, metavar="FILE", help="the queries of the --corpus")
    parser.add_argument("--qrels", type=text_path, metavar="FILE", help="their judgements")
    parser.add_argument("--run", dest="run_file", type=text_path, metavar="FILE", help="candidates in place of BM25's")
    parser.add_argument("--depth", type=positive, default=100, metavar="N", help="candidates per query (%(default)s)")
    parser.add_argument("--limit", type=positive, metavar="N", help="use only the first N queries (default: all)")
    parser.add_argument(
        "--encoder",
        dest="encoders",
        type=text_path,
        action="append",
        default=[],
        metavar="NAME|DIR",
        help="an embedding model; may be given several times",
    )
    parser.add_argument("--json", action="store_true", help="print JSON in place of Markdown")
    parser.add_argument("--output", type=text_path, metavar="DIR", help="folder for benchmark.md and benchmark.json")
    add_quiet_option(parser)
    add_model_options(parser, weights=False)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.evaluate.benchmark import run_benchmark
    from mpir.files.write import check_folder

    check_options(arguments)
    _check(arguments)
    if arguments.output:
        check_folder(arguments.output)
    options = _reranker_options(arguments)
    results = []
    for collection in _collections(arguments):
        result = run_benchmark(
            collection,
            arguments.models,
            arguments.encoders,
            bundle=arguments.bundle,
            options=options,
            progress=shows_progress(arguments),
        )
        results.append(result)
        if not arguments.json:
            print(result.to_markdown(), flush=True)
    values = [result.to_dict() for result in results]
    if arguments.json:
        print(json.dumps(values, ensure_ascii=False))
    if arguments.output:
        _write(Path(arguments.output), "\n".join(result.to_markdown() for result in results), values)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Raise InputError for options that do not go together."""
    local = {"--corpus": arguments.corpus, "--topics": arguments.topics, "--qrels": arguments.qrels}
    absent = [name for name, value in local.items() if not value]
    if arguments.datasets and len(absent) < len(local):
        raise InputError(
            "--dataset includes documents, topics and judgements; leave --corpus, --topics and --qrels out."
        )
    if not arguments.datasets and absent:
        raise InputError(f"{absent[0]} is missing; give --corpus, --topics and --qrels, or a --dataset.")
    if arguments.run_file and len(arguments.datasets) > 1:
        raise InputError(f"--run needs exactly one --dataset (got {len(arguments.datasets)}).")
    if arguments.only_model or arguments.level != "document" or arguments.llm or arguments.lexicon:
        raise InputError(
            "--only-model, --level, --llm and --lexicon do not apply to a benchmark of models; leave them out."
        )


def _collections(arguments: argparse.Namespace) -> Iterator[Collection]:
    from mpir.evaluate.collections import open_dataset, open_local

    limits = {"depth": arguments.depth, "limit": arguments.limit}
    if not arguments.datasets:
        yield open_local(arguments.corpus, arguments.topics, arguments.qrels, arguments.run_file, **limits)
    for name in arguments.datasets:
        yield open_dataset(name, arguments.run_file, **limits)


def _reranker_options(arguments: argparse.Namespace) -> dict[str, Any]:
    names = ("device", "precision", "tokens_per_batch", "trust_code", "trust_remote_code", "revision", "instruction")
    return {**{name: getattr(arguments, name) for name in names}, "model_options": dict(arguments.model_options)}


def _write(folder: Path, table: str, values: list[dict[str, Any]]) -> None:
    from mpir.files.write import atomic_write, write_json

    write_json(folder / "benchmark.json", values)
    with atomic_write(folder / "benchmark.md") as stream:
        stream.write(table)
