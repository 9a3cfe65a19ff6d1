"""``mpir rerank``: rerank given documents from several perspectives."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from mpir.app.cli.filter_options import add_filter_options, check_filter_options, filter_documents
from mpir.app.cli.llm_options import report_usage
from mpir.app.cli.model_options import add_model_options, check_options, load_reranker
from mpir.app.cli.path_options import text_path
from mpir.app.cli.progress import shows_progress, stage
from mpir.app.cli.ranking_output import (
    add_output_options,
    check_output_options,
    files_of,
    line_format,
    needs_all,
    write_ranking,
    write_tables,
)
from mpir.app.cli.rerank_file import add_file_options, check_file_options, write_rankings_file
from mpir.app.cli.search import name_of, query_text
from mpir.errors import InputError, error_context, format_value
from mpir.files.read import STDIN, at_terminal, place_of, read_json_lines

if TYPE_CHECKING:
    from mpir.core.text import Document
    from mpir.reranking.reranker import Reranker

    Query = tuple[str, str, list[Document]]  # id, text, documents

EPILOG = """\
Without a QUERY, standard input holds JSON lines as `mpir search` prints them:
  {"id": "1", "query": "…", "documents": [{"id": "…", "title": "…", "abstract": "…", "score": 7.1}, …]}
Each query gives a table; --json gives a line of JSON for each, and --trec the lines of a TREC run. --queries reads the
same lines from a file, and --output writes the results to one, in shards with --shard (docs/guides/scale.md).

examples:
  mpir rerank "Is aspirin a blood thinner?" --docs abstracts.jsonl --top-k 5 --explain
  mpir rerank "Is aspirin a blood thinner?" --docs pubmed-aspirin-set.txt embase.ris --html aspirin.html
  mpir rerank "Is aspirin a blood thinner?" --docs pubmed-aspirin-set.txt embase.ris --csv aspirin.csv
  mpir rerank "Is aspirin a blood thinner?" --docs paper.nxml other.pdf --sentences 5
  mpir rerank "no pleural effusion" --docs reports.jsonl --lexicon chest-xray.tsv \\
      --triggers negation hedges radiology --explain
  mpir search --index pubmed-index --k 100 "Is aspirin a blood thinner?" | mpir rerank
  mpir search --index pubmed-index --k 100 < questions.jsonl | mpir rerank --trec > run.trec
  mpir rerank --run bm25.trec --corpus corpus.jsonl --topics topics.xml --format trec > run.trec
  mpir rerank --queries candidates.jsonl --trec --shard 3/10 --output shards/3
  mpir rerank --queries candidates.jsonl --trec --ray local --workers 2 --output run.trec
  mpir rerank "Is aspirin a blood thinner?" --docs abstracts.jsonl \\
      --llm http://localhost:11434/v1 --llm-model qwen3:4b
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``rerank``."""
    parser = subparsers.add_parser(
        "rerank",
        help="rerank documents and their sentences",
        description="Score every (query, sentence) pair from several perspectives and rank documents and sentences.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "query",
        nargs="?",
        type=query_text,
        metavar="QUERY",
        help="a question (default: JSON lines on standard input)",
    )
    parser.add_argument(
        "--docs",
        type=text_path,
        nargs="+",
        metavar="PATH",
        help="with a QUERY: its documents (.jsonl, .csv, .nbib, .ris, .xml, .nxml, .pdf)",
    )
    parser.add_argument(
        "--run", dest="run_file", type=text_path, metavar="FILE", help="a TREC run whose documents are reranked"
    )
    parser.add_argument("--corpus", type=text_path, nargs="+", metavar="PATH", help="with --run: its documents")
    parser.add_argument("--topics", type=text_path, metavar="FILE", help="with --run: its queries")
    parser.add_argument(
        "--queries", type=text_path, metavar="FILE", help="a file of such JSON lines, in place of standard input"
    )
    add_file_options(parser)
    add_filter_options(parser)
    add_output_options(parser)
    add_model_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Rerank and print; 0 is the exit status. Raises MpirError for a user's mistake."""
    shown, shard = shows_progress(arguments), check_file_options(arguments)
    with stage("reading", shown=shown):
        queries = _queries(arguments)
        reranker = load_reranker(arguments)
    if shard is not None:
        write_rankings_file(arguments, queries, reranker, shard)
    else:
        _print_rankings(arguments, queries, reranker, shown=shown)
    report_usage(reranker.perspectives)
    return 0


def _print_rankings(
    arguments: argparse.Namespace, queries: Iterator[Query], reranker: Reranker, *, shown: bool
) -> None:
    """Rerank each query and print its ranking as soon as it is ready."""
    rankings = []
    for identifier, query, documents in queries:
        with stage("splitting", shown=shown):  # scoring has its own progress bar
            (ranking,) = reranker.rerank_batch([query], [documents], top_k=arguments.top_k, progress=shown)
        shown_ranking = write_ranking(arguments, identifier, ranking, documents=documents, reranker=reranker)
        if needs_all(arguments):
            rankings.append((identifier, shown_ranking))
    write_tables(arguments, rankings)


def _queries(arguments: argparse.Namespace) -> Iterator[Query]:
    """The queries to rerank. Raises InputError for options that conflict with each other or with the input."""
    check_options(arguments)
    if arguments.docs and arguments.query is None:
        raise InputError("--docs names the documents of a QUERY, but there is none; put it before --docs.")
    check_filter_options(arguments)
    check_output_options(arguments, [("--docs", path) for path in arguments.docs or []])
    inputs = _inputs(arguments)
    first = next(inputs, None)
    source = arguments.queries or arguments.run_file or "standard input"
    if first is None:
        raise InputError(f"{source}: there is no query; pipe in what `mpir search` prints, or give a QUERY.")
    for name in files_of(arguments):
        if next(inputs, None) is not None:
            raise InputError(
                f"--{name} shows the ranking of one query, but {source} has more; give one query at a time."
            )
    return chain([first], inputs)


def _inputs(arguments: argparse.Namespace) -> Iterator[Query]:
    """The queries of a run, a file, the command line or standard input. Raises InputError for several of them."""
    named = {"--run": arguments.run_file, "--corpus": arguments.corpus, "--topics": arguments.topics}
    absent = [name for name, value in named.items() if not value]
    if len(absent) < len(named):
        if absent:
            raise InputError(f"{absent[0]} is missing; --run, --corpus and --topics go together.")
        if arguments.query is not None or arguments.queries:
            raise InputError("--run has queries of its own; leave the QUERY and --queries out.")
        from mpir.evaluate.collections import read_run_queries

        return read_run_queries(arguments.run_file, arguments.corpus, arguments.topics, None)
    trec = line_format(arguments) == "trec"
    if arguments.queries:
        if arguments.query is not None:
            raise InputError("--queries has queries of its own; leave the QUERY out.")
        return _read(arguments.queries, trec=trec)
    return _single_query(arguments) if arguments.query is not None else _read(STDIN, trec=trec)


def _single_query(arguments: argparse.Namespace) -> Iterator[Query]:
    paths = arguments.docs
    if not paths:
        raise InputError("there are no documents for the query; name them with --docs PATH….")
    from mpir.files.corpora.corpus import naming_places, read_corpus
    from mpir.files.corpora.deduplicate import without_copies
    from mpir.reranking.inputs import as_documents

    with naming_places(paths):
        corpus_documents = list(read_corpus(paths))
        documents = as_documents(without_copies(corpus_documents))
    if duplicates := len(corpus_documents) - len(documents):
        print(
            f"mpir: note: each paper counts once; {duplicates} of {len(corpus_documents)} documents are duplicates",
            file=sys.stderr,
        )
    yield "1", arguments.query, filter_documents(documents, arguments)


def _read(path: str, *, trec: bool) -> Iterator[Query]:
    if path == STDIN and at_terminal(sys.stdin):
        raise InputError("there is no query; give one with --docs PATH…, or pipe in what `mpir search` prints.")
    from mpir.files.corpora.trec import check_ids
    from mpir.reranking.inputs import as_documents

    for number, record in read_json_lines(path):
        query, documents, location = record.get("query"), record.get("documents"), place_of(path, number)
        if not isinstance(query, str) or not isinstance(documents, list):
            raise InputError(
                f'{location}: expected "query" (a string) and "documents" (a list), found '
                f"{format_value(sorted(record))}; pipe in what `mpir search` prints."
            )
        with error_context(location):
            parsed = as_documents(documents)
            if trec:
                check_ids(name_of(record, number), *(document.id for document in parsed))
        yield name_of(record, number), query, parsed
