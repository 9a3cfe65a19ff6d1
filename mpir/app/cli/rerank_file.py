"""``mpir rerank --output``: write the rankings of a file of queries completely or not at all, optionally in shards."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.path_options import file_path
from mpir.app.cli.ranking_output import FILES, line_format, ranking_lines, visible_ranking
from mpir.app.cli.ray_options import add_ray_options, check_ray_options, opened_ranker
from mpir.app.cli.shard_option import add_shard_option, chosen_shard
from mpir.errors import InputError, OutputError
from mpir.files.read import STDIN

if TYPE_CHECKING:
    from mpir.core.text import Document
    from mpir.files.job_shards import Shard
    from mpir.reranking.reranker import Reranker

    Query = tuple[str, str, list[Document]]


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--output``, ``--shard`` and the options of Ray."""
    parser.add_argument(
        "--output",
        type=file_path,
        metavar="PATH",
        help="with --run or --queries, and --trec or --json: write the lines to this file once all are done; "
        "after an interrupt, repeat the command to resume. With --shard, this is a folder",
    )
    add_shard_option(parser, "with --output: rerank only shard i of n of the queries")
    add_ray_options(parser, "with --output: share the queries among the machines of a cluster")


def check_file_options(arguments: argparse.Namespace) -> Shard | None:
    """The shard to write to --output, or None if the lines go to standard output.

    Without --cache, such a run keeps no scores: in half precision they depend on the rest of their batch, and the lines
    must not depend on earlier runs.

    Raises:
        InputError: --shard or --ray without --output, or --output without a file of queries or a format of lines.
        MissingExtraError: --ray without Ray.
        OutputError: the output is not writable, or is another kind of file.
    """
    check_ray_options(arguments)
    if arguments.output is None:
        if arguments.ray is not None:
            raise InputError("--ray shares the queries of a file; name it with --queries or --run, and add --output.")
        if arguments.shard is not None:
            raise InputError("--shard writes a shard of the rankings to a folder; give it with --output.")
        return None
    if not arguments.run_file and (arguments.queries or STDIN) == STDIN:
        raise InputError("--output needs a file of queries; give it with --run or --queries.")
    if not line_format(arguments) or arguments.explain or any(getattr(arguments, name) for name in FILES):
        raise InputError(
            "--output holds only lines of a TREC run or of JSON; add --trec or --json, and leave other forms out."
        )
    shard = chosen_shard(arguments)
    _check_output(arguments, shard)
    arguments.no_cache |= arguments.cache is None
    return shard


def _check_output(arguments: argparse.Namespace, shard: Shard) -> None:
    from mpir.files.output_checks import check_files, check_folders
    from mpir.reranking.ranking_files import RANKINGS_SHARD

    files = ("--run", arguments.run_file), ("--topics", arguments.topics), ("--queries", arguments.queries)
    corpus = (("--corpus", path) for path in arguments.corpus or ())
    read = [*files, *corpus, ("--weights", arguments.weights), ("--lexicon", arguments.lexicon)]
    if shard.count > 1:
        check_folders([("--output", arguments.output)], read)
        RANKINGS_SHARD.check_replaceable(arguments.output)
    else:
        check_files([("--output", arguments.output)], read)
        check_rankings_file("--output", arguments.output, overwrite=arguments.overwrite)


def check_rankings_file(option: str, path: Path, *, overwrite: bool) -> None:
    """Raise OutputError for an existing file that does not contain rankings."""
    from mpir.files.output_checks import check_replaceable_file
    from mpir.files.own_files import are_rankings

    if path.is_dir():
        raise OutputError(f"{path}: is a folder; give {option} the name of a file.")
    check_replaceable_file(option, path, are_rankings, overwrite=overwrite)


def write_rankings_file(
    arguments: argparse.Namespace, queries: Iterable[Query], reranker: Reranker, shard: Shard
) -> None:
    """Rerank the queries, or a shard of them, and write the lines to --output."""
    from mpir.app.cli.progress import shows_progress
    from mpir.reranking.ranking_files import write_rankings

    progress = arguments.ray is not None and shows_progress(
        arguments
    )  # otherwise the reranker shows a bar for each query
    with opened_ranker(arguments, reranker, rank_query) as rank:
        job = _job(arguments, reranker)
        total = write_rankings(queries, rank, arguments.output, job, shard, progress=progress)
    if not arguments.quiet:
        print(f"{arguments.output}: " + (f"shard {shard} of " if shard.count > 1 else "") + f"{total} queries.")


def rank_query(arguments: argparse.Namespace, reranker: Reranker, query: Query) -> str:
    """Rank one query; return its lines of the file."""
    from mpir.app.cli.progress import shows_progress

    identifier, text, documents = query
    reranker.forget_texts()  # a shard must not depend on the texts of another
    (ranking,) = reranker.rerank_batch([text], [documents], top_k=arguments.top_k, progress=shows_progress(arguments))
    lines = ranking_lines(arguments, identifier, visible_ranking(arguments, ranking))
    return lines.encode("utf-8", "replace").decode()  # as on standard output


def _job(arguments: argparse.Namespace, reranker: Reranker) -> dict[str, Any]:
    """Everything that the lines depend on, as JSON-able values."""
    from mpir.files.corpora.corpus import corpus_content, corpus_fingerprint
    from mpir.files.hash import sha256
    from mpir.files.job_shards import CORPUS
    from mpir.version import __version__

    files = {name: getattr(arguments, name) for name in ("run_file", "topics", "queries")}
    options = {name: getattr(arguments, name) for name in ("top_k", "min_probability", "join")}
    return {
        "mpir": __version__,
        "queries": {name: sha256(path) for name, path in files.items() if path},
        **({CORPUS: corpus_content(corpus_fingerprint(arguments.corpus))} if arguments.corpus else {}),
        "format": line_format(arguments),
        **options,
        "weights": reranker.weights.to_dict(),
        "calibration": reranker.relevance.to_dict(),
        **reranker.identity,
    }
