"""``mpir pubmed``: fetch candidates from PubMed and Europe PMC over the network, and rank them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mpir.app.cli.cache_options import NO_CACHE
from mpir.app.cli.model_options import check_options, load_reranker
from mpir.app.cli.option import option, positional, setting
from mpir.app.cli.progress import shows_progress, stage
from mpir.app.cli.ranking_output import RankingArguments, check_output_options, show_ranking, write_files
from mpir.app.cli.value_options import positive, query_text
from mpir.errors import InputError
from mpir.validation import optional_whole_number

if TYPE_CHECKING:
    from mpir.search.pubmed.results import SearchResult

EPILOG = """\
Your question leaves this machine: its words go to PubMed (NCBI) and to Europe PMC (EMBL-EBI), which answer with
records. Ranking happens on this machine. --explain and JSON list every query that was sent. No other command sends
questions, except `mpir mcp` without --no-pubmed, and `mpir serve` and `mpir explain` with --pubmed.

Several searches are sent, from strict (all distinctive words) to loose (any of them), until there are --k candidates. A
question with [tags] or with AND, OR, NOT in capitals is sent unchanged. So is --query; the results are still ranked by
QUERY.

$NCBI_API_KEY allows 10 requests per second in place of 3. $NCBI_EMAIL, $MPIR_EUTILS and $MPIR_EUROPEPMC are used where
the settings pubmed.email, pubmed.eutils and pubmed.europepmc are not given. Proxies come from $HTTPS_PROXY and
$NO_PROXY. Answers are kept for a day in mpir's cache folder.

examples:
  mpir pubmed "Which drugs slow idiopathic pulmonary fibrosis?"
  mpir pubmed "Which drugs slow idiopathic pulmonary fibrosis?" --from 2015 --type "clinical trial" --output ipf.html
  mpir pubmed "Which drugs slow idiopathic pulmonary fibrosis?" --k 500 --top-k 20 --explain
  mpir pubmed "Is nintedanib safe in the elderly?" --query 'nintedanib[tiab] AND aged[mh]' --source pubmed
"""


@dataclass(frozen=True, kw_only=True)
class PubmedArguments(RankingArguments):
    """The arguments of `mpir pubmed`."""

    query: str | None = positional(help="a question", type=query_text, nargs="?", metavar="QUERY")
    k: int = option(
        "--k",
        help="candidates to retrieve and rank, at most 10,000 (%(default)s)",
        type=positive,
        default=200,
        metavar="N",
    )
    start: str | None = option(
        "--from", help="first publication date: 2015, 2015-03, 2015-03-01", metavar="DATE", group="filters"
    )
    end: str | None = option("--to", help="last publication date", metavar="DATE", group="filters")
    types: Sequence[str] = option(
        "--type",
        help='publication type, such as "clinical trial"; repeat it to allow several',
        default=[],
        action="append",
        metavar="NAME",
        group="filters",
    )
    own_query: str | None = option("--query", help="send this search unchanged", type=query_text, metavar="TEXT")
    sources: Sequence[str] | None = option(
        "--source", help="pubmed or europepmc; may be repeated (default: both)", action="append", metavar="NAME"
    )
    preprints: bool = setting("pubmed.preprints", help="also Europe PMC's preprints", default=False)
    eutils: str | None = setting("pubmed.eutils", help="base URL of /esearch.fcgi (default: NCBI's)", metavar="URL")
    europepmc: str | None = setting(
        "pubmed.europepmc", help="base URL of /search (default: Europe PMC's)", metavar="URL"
    )
    email: str | None = setting(
        "pubmed.email", help="address for NCBI to contact if requests cause trouble", metavar="ADDRESS"
    )
    timeout: float | None = setting(
        "pubmed.timeout", help="time limit for an answer (default: 30)", type=float, metavar="SECONDS"
    )
    refresh: bool = setting("pubmed.refresh", help="fetch again, and replace the cached answers", default=False)


def run(arguments: PubmedArguments) -> int:
    """Search, rank and print; 0 is the exit status. Raises MpirError for a user's mistake or a service that fails."""
    optional_whole_number("--top-k", arguments.top_k)
    check_options(arguments)
    check_output_options(arguments)
    query = arguments.query or arguments.own_query
    if not query:
        raise InputError('there is no query; give one, as in `mpir pubmed "Which gene causes cystic fibrosis?"`.')
    reranker = load_reranker(arguments)  # before anything is sent, because an option may be invalid
    result = _search(arguments, query)
    for warning in result.warnings:
        print(f"mpir: {warning}", file=sys.stderr)
    if not result.documents:
        print("mpir: no record matches; rephrase the question, or use fewer limits.", file=sys.stderr)
    documents = list(result.documents)
    shown = shows_progress(arguments)
    with stage("splitting", shown=shown):  # scoring has its own progress bar
        (ranking,) = reranker.rerank_batch([query], [documents], progress=shown)
    if arguments.explain:
        print(_searches_table(result), end="\n\n")
    details = result.to_dict()
    shown_ranking = show_ranking(arguments, "1", ranking, documents=documents, reranker=reranker, details=details)
    write_files(arguments, [shown_ranking])
    return 0


def _search(arguments: PubmedArguments, query: str) -> SearchResult:
    from mpir.search.pubmed import Settings, search

    settings = Settings.from_environment(
        eutils=arguments.eutils,
        europepmc=arguments.europepmc,
        email=arguments.email,
        timeout=arguments.timeout,
        refresh=arguments.refresh,
        cache=False if arguments.cache == NO_CACHE else None,
    )
    with _progress(shown=shows_progress(arguments)) as bar:
        return search(
            query,
            arguments.k,
            own_query=arguments.own_query,
            start=arguments.start,
            end=arguments.end,
            types=arguments.types,
            sources=arguments.sources,
            preprints=arguments.preprints,
            settings=settings,
            report=_reporter(bar),
        )


def _progress(*, shown: bool) -> Any:
    """A progress bar, if progress is shown."""
    if not shown:
        return nullcontext()
    from tqdm import tqdm

    return tqdm(desc="searching", unit=" candidates", leave=False, file=sys.stderr)


def _reporter(bar: Any) -> Any:
    def report(name: str, number: int, total: int) -> None:
        """Show the number of fetched records in the bar, if there is one."""
        if bar is not None:
            bar.set_description(f"fetching {name}" if name == "records" else f"searching {name}", refresh=False)
            bar.total, bar.n = total, min(number, total)
            bar.refresh()

    return report


def _searches_table(result: SearchResult) -> str:
    from tabulate import tabulate

    rows = [[sent.source, sent.hits, sent.new, sent.query] for sent in result.searches]
    table = tabulate(
        rows, ["searched", "records", "new", "query"], disable_numparse=True, maxcolwidths=[None, None, None, 90]
    )
    understood = [f"{sent.source} understood: {sent.translation}" for sent in result.searches if sent.translation]
    return "\n".join([table, *understood])
