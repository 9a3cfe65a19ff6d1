"""``mpir benchmark``: measure models on judged queries, alone and blended."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.progress import shows_progress
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


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.app.cli.model_options import named_models
    from mpir.evaluate.benchmark import run_benchmark
    from mpir.reranking.options import RunOptions

    _check(arguments)
    if arguments.output:
        _check_output(Path(arguments.output))
    run_options = RunOptions(tokens_per_batch=arguments.tokens_per_batch, trust_code=arguments.trust_code)
    results = []
    for collection in _collections(arguments):
        result = run_benchmark(
            collection,
            named_models(arguments, arguments.encoders),
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
        _write(Path(arguments.output), "\n".join(result.to_markdown() for result in results), values)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Raise InputError for options that do not go together."""
    local = {"--corpus": arguments.corpus, "--queries": arguments.query_file, "--qrels": arguments.qrels}
    absent = [name for name, value in local.items() if not value]
    if arguments.datasets and len(absent) < len(local):
        raise InputError(
            "--dataset includes documents, topics and judgements; leave --corpus, --queries and --qrels out."
        )
    if not arguments.datasets and absent:
        raise InputError(f"{absent[0]} is missing; give --corpus, --queries and --qrels, or a --dataset.")
    if arguments.run_file and len(arguments.datasets) > 1:
        raise InputError(f"--run needs exactly one --dataset (got {len(arguments.datasets)}).")


def _check_output(folder: Path) -> None:
    """Raise OutputError for a folder that cannot be written, or whose files are not those of an earlier run."""
    from mpir.files.output_checks import Form, Output, are_figures, check_outputs, is_benchmark_table
    from mpir.files.write import check_folder

    check_folder(folder)
    forms: dict[str, Form] = {"benchmark.json": are_figures, "benchmark.md": is_benchmark_table}
    check_outputs(Output("--output", folder / name, form) for name, form in forms.items())


def _collections(arguments: argparse.Namespace) -> Iterator[Collection]:
    from mpir.evaluate.collections import open_dataset, open_local

    limits = {"depth": arguments.k, "limit": arguments.limit}
    if not arguments.datasets:
        yield open_local(arguments.corpus, arguments.query_file, arguments.qrels, arguments.run_file, **limits)
    for name in arguments.datasets:
        yield open_dataset(name, arguments.run_file, **limits)


def _write(folder: Path, table: str, values: list[dict[str, Any]]) -> None:
    from mpir.files.write import atomic_write, write_json

    write_json(folder / "benchmark.json", values)
    with atomic_write(folder / "benchmark.md") as stream:
        stream.write(table)
