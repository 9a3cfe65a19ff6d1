"""``mpir pubmed``: fetch candidates from PubMed and Europe PMC over the network, and rank them."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from mpir.app.cli.cache_options import NO_CACHE
from mpir.app.cli.model_options import check_options, load_reranker
from mpir.app.cli.progress import shows_progress, stage
from mpir.app.cli.ranking_output import check_output_options, show_ranking, write_files
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

$NCBI_API_KEY allows 10 requests per second in place of 3. $NCBI_EMAIL, $MPIR_EUTILS and $MPIR_EUROPEPMC are used where
the settings pubmed.email, pubmed.eutils and pubmed.europepmc are not given. Proxies come from $HTTPS_PROXY and
$NO_PROXY. Answers are kept for a day in mpir's cache folder.

examples:
  mpir pubmed "Which drugs slow idiopathic pulmonary fibrosis?"
  mpir pubmed "Which drugs slow idiopathic pulmonary fibrosis?" --from 2015 --type "clinical trial" --output ipf.html
  mpir pubmed "Which drugs slow idiopathic pulmonary fibrosis?" --k 500 --top-k 20 --explain
  mpir pubmed "Is nintedanib safe in the elderly?" --query 'nintedanib[tiab] AND aged[mh]' --source pubmed
"""


def run(arguments: argparse.Namespace) -> int:
    """Search, rank and print; 0 is the exit status. Raises MpirError for a user's mistake or a service that fails."""
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


def _search(arguments: argparse.Namespace, query: str) -> SearchResult:
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
