"""The arguments of `mpir rerank`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mpir.app.cli.option import option, positional, setting
from mpir.app.cli.ranking_output import RankingArguments
from mpir.app.cli.ray_options import RayArguments
from mpir.app.cli.value_options import DOCS, path_list, positive, query_text, text_path


@dataclass(frozen=True, kw_only=True)
class RerankArguments(RankingArguments, RayArguments):
    """The arguments of `mpir rerank`."""

    query: str | None = positional(
        help="a question (default: JSON lines on standard input)", type=query_text, nargs="?", metavar="QUERY"
    )
    docs: Sequence[str] | None = option(
        "--docs", help=f"documents of the QUERY or of --run: {DOCS}", type=text_path, nargs="+", metavar="PATH"
    )
    run_file: str | None = option(
        "--run", help="a TREC run to rerank, with its --queries and --docs", type=text_path, metavar="FILE"
    )
    query_file: str | None = option(
        "--queries",
        help="queries from a file: JSON lines with documents, or those of --run",
        type=text_path,
        metavar="FILE",
    )
    within: float | None = option(
        "--within",
        help="answer in this time; what it does not reach keeps its place by what is known",
        type=float,
        metavar="SECONDS",
    )
    grades: str | None = option(
        "--grades",
        help="decisions (a review NAME.mpir, an explain page's .jsonl, or its .csv and TREC qrels, which are taken to "
        "follow the ranking): test whether reading may stop after them",
        type=text_path,
        metavar="FILE",
    )
    recall: float = setting(
        "stop.recall",
        help="share of the relevant documents to find",
        type=float,
        default=0.95,
        metavar="SHARE",
        needs="--grades",
    )
    confidence: float = setting(
        "stop.confidence",
        help="confidence that the share is found",
        type=float,
        default=0.995,
        metavar="SHARE",
        needs="--grades",
    )
    shard: str | None = option(
        "--shard",
        help="with --output: rerank only shard i of n of the queries; `mpir merge` joins them (default: a Slurm "
        "array's task, else all)",
        metavar="i/n",
        group="parallel",
        advanced=True,
    )
    first_year: int | None = setting(
        "filter.from",
        help="documents of --docs published in YEAR or later",
        type=positive,
        metavar="YEAR",
        needs="--docs",
    )
    last_year: int | None = setting(
        "filter.to",
        help="documents of --docs published in YEAR or earlier",
        type=positive,
        metavar="YEAR",
        needs="--docs",
    )
    types: Sequence[str] = setting(
        "filter.type",
        help="their publication types, such as review",
        type=path_list,
        default=(),
        metavar="NAME,…",
        needs="--docs",
    )
    exclude_not: bool = setting(
        "filter.exclude_not",
        help="leave out documents of --docs that match what NOT excludes in the query",
        default=False,
        needs="--docs",
    )
