"""``mpir rerank --output``: write the rankings of a file of queries completely or not at all, optionally in shards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.model_options import load_reranker
from mpir.app.cli.progress import shows_progress
from mpir.app.cli.ranking_output import (
    LINES,
    OUTPUT,
    check_output_options,
    form_of,
    ranking_lines,
    visible_ranking,
)
from mpir.app.cli.ray_options import check_ray_options, chosen_shard, opened_ranker
from mpir.app.cli.rerank_arguments import RerankArguments
from mpir.errors import InputError
from mpir.files.output_checks import Named
from mpir.files.read import STDIN

if TYPE_CHECKING:
    from mpir.core.text import Document
    from mpir.files.job_shards import Shard
    from mpir.reranking.reranker import Reranker

    Query = tuple[str, str, list[Document]]


@dataclass(frozen=True, slots=True)
class FileJob:
    """The file, or with a shard the folder, that the lines of all queries go to, and their form."""

    output: Path
    form: str
    shard: Shard


def check_file_options(arguments: RerankArguments) -> FileJob | None:
    """The job of writing the rankings of a file of queries, or None if rankings are shown one by one.

    Without cache.folder, such a job keeps no scores: in half precision they depend on the rest of their batch, and the
    lines must not depend on earlier runs.

    Raises:
        InputError: --shard or --ray without a file of queries and an output of lines.
        MissingExtraError: --ray without Ray.
        OutputError: an output is not writable, or is another kind of file.
    """
    check_ray_options(arguments, arguments.llm)
    has_file = (arguments.run_file or arguments.query_file or STDIN) != STDIN
    forms = [form_of(arguments, path) for path in arguments.outputs]
    if not (has_file and len(forms) == 1 and forms[0] in LINES):
        for name, value in {"ray": arguments.ray, "shard": arguments.shard}.items():
            if value is not None:
                raise InputError(
                    f"--{name} shares the queries of a file; name it with --queries or --run, and give one --output of "
                    "the form jsonl or trec."
                )
        check_output_options(arguments, _inputs(arguments))
        return None
    job = FileJob(arguments.outputs[0], forms[0], chosen_shard(arguments.shard))
    if job.shard.count == 1:
        check_output_options(arguments, _inputs(arguments))
    else:
        _check_folder(job, _inputs(arguments))
    return job


def _inputs(arguments: RerankArguments) -> list[Named]:
    """The files that the job reads, by option."""
    files = ("--run", arguments.run_file), ("--queries", arguments.query_file)
    return [*files, *(("--docs", path) for path in arguments.docs or ())]


def _check_folder(job: FileJob, read: list[Named]) -> None:
    from mpir.files.output_checks import Output, check_outputs
    from mpir.reranking.ranking_files import RANKINGS_SHARD

    check_outputs([Output(OUTPUT, job.output, RANKINGS_SHARD)], read)


def check_rankings_file(option: str, path: Path, *, overwrite: bool) -> None:
    """Raise OutputError for an existing file that does not contain rankings."""
    from mpir.files.output_checks import Output, are_rankings, check_outputs

    check_outputs([Output(option, path, are_rankings)], overwrite=overwrite)


def write_rankings_file(arguments: RerankArguments, queries: Iterable[Query], reranker: Reranker, job: FileJob) -> None:
    """Rerank the queries, or a shard of them, and write the lines to the output."""
    from mpir.reranking.ranking_files import write_rankings

    # without Ray, the reranker shows a bar for each query
    progress = arguments.ray is not None and shows_progress(arguments)
    ranked = replace(arguments, format=job.form, quiet=arguments.quiet or arguments.ray is not None)
    load = partial(load_reranker, ranked, keeps=False)
    with opened_ranker(arguments, reranker, partial(rank_query, ranked), load) as rank:
        facts = _facts(ranked, reranker)
        total = write_rankings(queries, rank, job.output, facts, job.shard, progress=progress)
    if not arguments.quiet:
        share = f"shard {job.shard} of " if job.shard.count > 1 else ""
        print(f"{job.output}: {share}{total} queries.")


def rank_query(arguments: RerankArguments, reranker: Reranker, query: Query) -> str:
    """Rank one query; return its lines of the file."""
    identifier, text, documents = query
    reranker.forget_texts()  # a shard must not depend on the texts of another
    (ranking,) = reranker.rerank_batch([text], [documents], progress=shows_progress(arguments))
    lines = ranking_lines(str(arguments.format), identifier, visible_ranking(arguments, ranking))
    return lines.encode("utf-8", "replace").decode()  # as on standard output


def _facts(arguments: RerankArguments, reranker: Reranker) -> dict[str, Any]:
    """Everything that the lines depend on, as JSON-able values."""
    from mpir.files.checksum import sha256
    from mpir.files.corpora.corpus import corpus_content, corpus_fingerprint
    from mpir.files.job_shards import CORPUS
    from mpir.version import __version__

    files = {"run_file": arguments.run_file, "queries": arguments.query_file}
    return {
        "mpir": __version__,
        "queries": {name: sha256(path) for name, path in files.items() if path},
        **({CORPUS: corpus_content(corpus_fingerprint(arguments.docs))} if arguments.docs else {}),
        "format": arguments.format,
        "top_k": arguments.top_k,
        "min_probability": arguments.min_probability,
        "weights": reranker.weights.to_dict(),
        "calibration": reranker.calibration and reranker.calibration.to_dict(),
        **reranker.identity,
    }
