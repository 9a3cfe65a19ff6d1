"""``mpir pubmed``: fetch candidates from PubMed and Europe PMC over the network, and rank them."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from mpir.app.cli.model_options import add_model_options, check_options, load_reranker
from mpir.app.cli.number_options import positive
from mpir.app.cli.progress import shows_progress, stage
from mpir.app.cli.ranking_output import add_output_options, check_output_options, write_ranking, write_tables
from mpir.app.cli.search import query_text
from mpir.errors import InputError

if TYPE_CHECKING:
    from mpir.search.pubmed.results import SearchResult

EPILOG = """\
Your question leaves this machine: its words go to PubMed (NCBI) and to Europe PMC (EMBL-EBI), which answer with
records. Ranking happens on this machine. --explain and JSON list every query that was sent. No other command sends
questions, except `mpir mcp` without --no-pubmed, and `mpir serve` and `mpir explain` with --pubmed.

Several searches are sent, from strict (all distinctive words) to loose (any of them), until there are --k candidates. A
question with [tags] or with AND, OR, NOT in capitals is sent unchanged. So is --query; the results are still ranked by
QUERY.

$NCBI_API_KEY allows 10 requests per second in place of 3. $NCBI_EMAIL, $MPIR_EUTILS and $MPIR_EUROPEPMC replace
--email, --eutils and --europepmc. Proxies come from $HTTPS_PROXY and $NO_PROXY. Answers are kept for a day in mpir's
cache folder.

examples:
  mpir pubmed "Which drugs slow idiopathic pulmonary fibrosis?"
  mpir pubmed "Which drugs slow idiopathic pulmonary fibrosis?" --from 2015 --type "clinical trial" --html ipf.html
  mpir pubmed "Which drugs slow idiopathic pulmonary fibrosis?" --k 500 --top-k 20 --explain
  mpir pubmed "Is nintedanib safe in the elderly?" --query 'nintedanib[tiab] AND aged[mh]' --source pubmed
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``pubmed``."""
    parser = subparsers.add_parser(
        "pubmed",
        help="search PubMed and Europe PMC over the network, and rank the results",
        description="Search PubMed and Europe PMC for a question, and rank their abstracts and sentences. "
        "The question leaves this machine.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("query", nargs="?", type=query_text, metavar="QUERY", help="a question")
    parser.add_argument(
        "--candidates",
        "--k",
        dest="k",
        type=positive,
        default=200,
        metavar="N",
        help="documents to retrieve and rank, at most 10,000 (%(default)s)",
    )
    parser.add_argument(
        "--from", dest="start", metavar="DATE", help="first publication date: 2015, 2015-03, 2015-03-01"
    )
    parser.add_argument("--to", dest="end", metavar="DATE", help="last publication date")
    parser.add_argument(
        "--type",
        action="append",
        default=[],
        metavar="NAME",
        help='publication type, such as "clinical trial"; repeat it to allow several',
    )
    parser.add_argument("--query", dest="own_query", type=query_text, metavar="TEXT", help="send this search unchanged")
    parser.add_argument("--preprints", action="store_true", help="also Europe PMC's preprints")
    parser.add_argument(
        "--source", action="append", metavar="NAME", help="pubmed or europepmc; may be repeated (default: both)"
    )
    _add_service_options(parser)
    add_output_options(parser)
    add_model_options(parser)
    parser.set_defaults(run=run)


def _add_service_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("services")
    group.add_argument("--eutils", metavar="URL", help="base URL of /esearch.fcgi (default: NCBI's)")
    group.add_argument("--europepmc", metavar="URL", help="base URL of /search (default: Europe PMC's)")
    group.add_argument("--email", metavar="ADDRESS", help="address for NCBI to contact if requests cause trouble")
    group.add_argument("--timeout", type=float, metavar="SECONDS", help="time limit for an answer (default: 30)")
    group.add_argument("--refresh", action="store_true", help="fetch again, and replace the cached answers")


def run(arguments: argparse.Namespace) -> int:
    """Search, rank and print; 0 is the exit status. Raises MpirError for a user's mistake or a service that fails."""
    check_options(arguments)
    check_output_options(arguments)
    arguments.query = arguments.query or arguments.own_query
    if not arguments.query:
        raise InputError('there is no query; give one, as in `mpir pubmed "Which gene causes cystic fibrosis?"`.')
    reranker = load_reranker(arguments)  # before anything is sent, because an option may be invalid
    result = _search(arguments)
    for warning in result.warnings:
        print(f"mpir: {warning}", file=sys.stderr)
    if not result.documents:
        print("mpir: no record matches; rephrase the question, or use fewer limits.", file=sys.stderr)
    documents = list(result.documents)
    shown = shows_progress(arguments)
    with stage("splitting", shown=shown):  # scoring has its own progress bar
        (ranking,) = reranker.rerank_batch([arguments.query], [documents], top_k=arguments.top_k, progress=shown)
    if arguments.explain:
        print(_searches_table(result), end="\n\n")
    details = result.to_dict()
    shown_ranking = write_ranking(arguments, "1", ranking, documents=documents, reranker=reranker, details=details)
    write_tables(arguments, [("1", shown_ranking)])
    return 0


def _search(arguments: argparse.Namespace) -> SearchResult:
    from mpir.search.pubmed import Settings, search

    settings = Settings.from_environment(
        eutils=arguments.eutils,
        europepmc=arguments.europepmc,
        email=arguments.email,
        timeout=arguments.timeout,
        refresh=arguments.refresh,
        cache=False if arguments.no_cache else None,
    )
    with _progress(shown=shows_progress(arguments)) as bar:
        return search(
            arguments.query,
            arguments.k,
            own_query=arguments.own_query,
            start=arguments.start,
            end=arguments.end,
            types=arguments.type,
            sources=arguments.source,
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
