"""``mpir benchmark``: measure models on judged queries, alone and blended."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.common_options import QuietArguments, ReportArguments
from mpir.app.cli.model_options import ModelArguments
from mpir.app.cli.option import option
from mpir.app.cli.progress import shows_progress
from mpir.app.cli.value_options import output_path, positive, text_path
from mpir.errors import InputError

if TYPE_CHECKING:
    from mpir.evaluate.collections import Collection

EPILOG = """\
Candidates are BM25's best documents for each query, or those of a TREC run. Each row is one way to order them: the
first stage, the bundle, each model alone, the first stage with the model (z-scores), and the bundle with the model,
untuned. p is from a paired randomisation test against the first stage, with Holm's correction.

examples:
  mpir benchmark --dataset beir/scifact/test --model ncbi/MedCPT-Cross-Encoder
  mpir benchmark --corpus corpus.jsonl --queries queries.jsonl --qrels test.qrels --model ./mine --model ./other
  mpir benchmark --corpus corpus.jsonl --queries topics.xml --qrels test.qrels --run bm25.trec --output results
"""


@dataclass(frozen=True, kw_only=True)
class BenchmarkArguments(ModelArguments, ReportArguments, QuietArguments):
    """The arguments of `mpir benchmark`."""

    run_file: str | None = option(
        "--run", help="candidates in place of BM25's: a TREC run", type=text_path, metavar="FILE"
    )
    query_file: str | None = option("--queries", help="the queries of the --corpus", type=text_path, metavar="FILE")
    corpus: Sequence[str] | None = option(
        "--corpus", help="documents, instead of a --dataset", type=text_path, nargs="+", metavar="PATH"
    )
    qrels: str | None = option("--qrels", help="the judgements of the --queries", type=text_path, metavar="FILE")
    output: Path | None = option(
        "--output", help="folder for benchmark.md and benchmark.json", type=output_path, metavar="PATH"
    )
    k: int = option("--k", help="candidates of the first stage (%(default)s)", type=positive, default=100, metavar="N")
    encoders: Sequence[str] = option(
        "--encoder",
        help="an embedding model; may be given several times",
        type=text_path,
        default=[],
        action="append",
        metavar="NAME|DIR",
        group="models",
    )
    datasets: Sequence[str] = option(
        "--dataset",
        help="an ir_datasets name, such as beir/scifact/test; may be given several times (extra: benchmark)",
        default=[],
        action="append",
        metavar="NAME",
    )
    limit: int | None = option(
        "--limit", help="use only the first N queries (default: all)", type=positive, metavar="N"
    )


def run(arguments: BenchmarkArguments) -> int:
    """Measure and print; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.evaluate.benchmark import run_benchmark
    from mpir.reranking.options import RunOptions

    _check(arguments)
    if arguments.output:
        _check_output(arguments.output)
    run_options = RunOptions(tokens_per_batch=arguments.tokens_per_batch, trust_code=arguments.trust_code)
    results = []
    for collection in _collections(arguments):
        result = run_benchmark(
            collection,
            arguments.named_models(arguments.encoders),
            bundle=arguments.bundle,
            device=arguments.device,
            precision=arguments.precision,
            run=run_options,
            progress=shows_progress(arguments),
        )
        results.append(result)
        if arguments.format != "json":
            print(result.to_markdown(), flush=True)
    values = [result.to_dict() for result in results]
    if arguments.format == "json":
        print(json.dumps(values, ensure_ascii=False))
    if arguments.output:
        _write(arguments.output, "\n".join(result.to_markdown() for result in results), values)
    return 0


def _check(arguments: BenchmarkArguments) -> None:
    """Raise InputError for options that do not go together."""
    if arguments.datasets and (arguments.corpus or arguments.query_file or arguments.qrels):
        raise InputError(
            "--dataset includes documents, topics and judgements; leave --corpus, --queries and --qrels out."
        )
    if arguments.run_file and len(arguments.datasets) > 1:
        raise InputError(f"--run needs exactly one --dataset (got {len(arguments.datasets)}).")
    if not arguments.datasets:
        _local_files(arguments)


def _local_files(arguments: BenchmarkArguments) -> tuple[Sequence[str], str, str]:
    """The documents, queries and judgements. Raises InputError for a missing one."""
    corpus, queries, qrels = arguments.corpus, arguments.query_file, arguments.qrels
    if not corpus or not queries or not qrels:
        absent = "--corpus" if not corpus else "--queries" if not queries else "--qrels"
        raise InputError(f"{absent} is missing; give --corpus, --queries and --qrels, or a --dataset.")
    return corpus, queries, qrels


def _check_output(folder: Path) -> None:
    """Raise OutputError for a folder that cannot be written, or whose files are not those of an earlier run."""
    from mpir.files.output_checks import Form, Output, are_figures, check_outputs, is_benchmark_table
    from mpir.files.write import check_folder

    check_folder(folder)
    forms: dict[str, Form] = {"benchmark.json": are_figures, "benchmark.md": is_benchmark_table}
    check_outputs(Output("--output", folder / name, form) for name, form in forms.items())


def _collections(arguments: BenchmarkArguments) -> Iterator[Collection]:
    from mpir.evaluate.collections import open_dataset, open_local

    limits: dict[str, Any] = {"depth": arguments.k, "limit": arguments.limit}
    if not arguments.datasets:
        yield open_local(*_local_files(arguments), arguments.run_file, **limits)
    for name in arguments.datasets:
        yield open_dataset(name, arguments.run_file, **limits)


def _write(folder: Path, table: str, values: list[dict[str, Any]]) -> None:
    from mpir.files.write import atomic_write, write_json

    write_json(folder / "benchmark.json", values)
    with atomic_write(folder / "benchmark.md") as stream:
        stream.write(table)
