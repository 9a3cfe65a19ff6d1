"""``mpir rerank``: rerank given documents from several perspectives."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from mpir.app.cli.chat_options import report_usage
from mpir.app.cli.model_options import check_options, load_reranker
from mpir.app.cli.progress import shows_progress, stage
from mpir.app.cli.ranking_output import forms_of_one, has_trec, needs_all, show_ranking, write_files
from mpir.app.cli.rerank_arguments import RerankArguments
from mpir.app.cli.rerank_file import check_file_options, write_rankings_file
from mpir.errors import InputError, error_context, format_value
from mpir.files.read import STDIN, at_terminal, place_of, read_json_lines
from mpir.validation import optional_whole_number

if TYPE_CHECKING:
    from mpir.app.cli.grades import Grades
    from mpir.core.text import Document
    from mpir.reranking.reranker import Reranker

    Query = tuple[str, str, list[Document]]  # id, text, documents

EPILOG = """\
Without a QUERY, standard input holds JSON lines as `mpir search` prints them:
  {"id": "1", "query": "…", "documents": [{"id": "…", "title": "…", "abstract": "…", "score": 7.1}, …]}
--queries reads the same lines from a file. With --output FILE.jsonl or FILE.trec, a file of queries is written once all
are done; after an interrupt, repeat the command to resume. With --shard, OUTPUT is a folder (docs/guides/scale.md).

examples:
  mpir rerank "Is aspirin a blood thinner?" --docs abstracts.jsonl --top-k 5 --explain
  mpir rerank "Is aspirin a blood thinner?" --docs pubmed-aspirin-set.txt embase.ris --output aspirin.html
  mpir rerank "Is aspirin a blood thinner?" --docs abstracts.jsonl --grades grades.qrels
  mpir rerank "no pleural effusion" --docs reports.jsonl --lexicon chest-xray.tsv
  mpir search --index pubmed-index --top-k 100 "Is aspirin a blood thinner?" | mpir rerank
  mpir rerank --run bm25.trec --docs corpus.jsonl --queries topics.xml --output run.trec
  mpir rerank "Is aspirin a blood thinner?" --docs abstracts.jsonl --llm http://localhost:11434/v1#qwen3:4b

more examples:
  mpir rerank "Is aspirin a blood thinner?" --docs paper.nxml other.pdf --sentences 5
  mpir search --index pubmed-index --top-k 100 < questions.jsonl | mpir rerank --format trec > run.trec
  mpir rerank --queries candidates.jsonl --format trec --shard 3/10 --output shards/3
  mpir rerank --queries candidates.jsonl --ray local --workers 2 --output run.trec
"""


def run(arguments: RerankArguments) -> int:
    """Rerank and print; 0 is the exit status. Raises MpirError for a user's mistake."""
    shown, job = shows_progress(arguments), check_file_options(arguments)
    if job is not None and arguments.within is not None:
        raise InputError("--within is for rankings that are shown; leave it out where a file of queries is ranked.")
    grades = _grades(arguments, is_job=job is not None)
    with stage("reading", shown=shown):
        queries = _queries(arguments)
        reranker = load_reranker(arguments, keeps=job is None, workers=arguments.local_workers)
    if job is not None:
        write_rankings_file(arguments, queries, reranker, job)
    else:
        _show_rankings(arguments, queries, reranker, grades, shown=shown)
    report_usage(reranker.perspectives)
    return 0


def _show_rankings(
    arguments: RerankArguments, queries: Iterator[Query], reranker: Reranker, grades: Grades | None, *, shown: bool
) -> None:
    """Rerank each query and print its ranking as soon as it is ready."""
    rankings = []
    for identifier, query, documents in queries:
        with stage("splitting", shown=shown):  # scoring has its own progress bar
            if arguments.within is None:
                (ranking,) = reranker.rerank_batch([query], [documents], progress=shown)
            else:
                ranking = reranker.rerank(query, documents, within=arguments.within)
        stopping = grades.test(identifier, ranking) if grades else None
        shown_ranking = show_ranking(
            arguments,
            identifier,
            ranking,
            documents=documents,
            reranker=reranker,
            details=grades.facts(stopping) if grades and stopping else None,
            note=grades.note(stopping) if grades and stopping else "",
        )
        if needs_all(arguments):
            rankings.append(shown_ranking)
    write_files(arguments, rankings)


def _grades(arguments: RerankArguments, *, is_job: bool) -> Grades | None:
    """The grades to test. Raises InputError for an invalid file or option, or for queries that are not shown."""
    if arguments.grades is None:
        return None
    if is_job:
        raise InputError("--grades is for rankings that are shown; leave it out where a file of queries is ranked.")
    from mpir.app.cli.grades import Grades

    return Grades(arguments.grades, recall=arguments.recall, confidence=arguments.confidence)


def _queries(arguments: RerankArguments) -> Iterator[Query]:
    """The queries to rerank. Raises InputError for options that conflict with each other or with the input."""
    optional_whole_number("--top-k", arguments.top_k)
    check_options(arguments)
    if arguments.docs and arguments.query is None and not arguments.run_file:
        raise InputError("--docs names the documents of a QUERY or a --run, but there is none; put it before --docs.")
    inputs = _inputs(arguments)
    first = next(inputs, None)
    source = arguments.query_file or arguments.run_file or "standard input"
    if first is None:
        raise InputError(f"{source}: there is no query; pipe in what `mpir search` prints, or give a QUERY.")
    for name in forms_of_one(arguments):
        if next(inputs, None) is not None:
            raise InputError(f"{name} shows the ranking of one query, but {source} has more; give one query at a time.")
    return chain([first], inputs)


def _inputs(arguments: RerankArguments) -> Iterator[Query]:
    """The queries of a run, a file, the command line or standard input. Raises InputError for several of them."""
    if arguments.query is not None and (arguments.run_file or arguments.query_file):
        raise InputError("--run and --queries have queries of their own; leave the QUERY out.")
    if arguments.run_file:
        named = {"--docs": arguments.docs, "--queries": arguments.query_file}
        if absent := [name for name, value in named.items() if not value]:
            raise InputError(f"{absent[0]} is missing; --run, --docs and --queries go together.")
        from mpir.evaluate.collections import read_run_queries

        return read_run_queries(arguments.run_file, arguments.docs or (), str(arguments.query_file), None)
    if arguments.query is not None:
        return _single_query(arguments, arguments.query)
    return _read(arguments.query_file or STDIN, trec=has_trec(arguments))


def _single_query(arguments: RerankArguments, query: str) -> Iterator[Query]:
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
    yield "1", query, filter_documents(documents, arguments, query)


def _read(path: str, *, trec: bool) -> Iterator[Query]:
    if path == STDIN and at_terminal(sys.stdin):
        raise InputError("there is no query; give one with --docs PATH…, or pipe in what `mpir search` prints.")
    from mpir.files.corpora.queries import query_id
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
                check_ids(query_id(record, number), *(document.id for document in parsed))
        yield query_id(record, number), query, parsed


def filter_documents(documents: Sequence[Document], arguments: RerankArguments, query: str) -> list[Document]:
    """The documents that pass the options; the others are counted in a note. Raises InputError as RecordFilter."""
    from mpir.files.corpora.filters import RecordFilter, format_counts

    record_filter = RecordFilter(
        first_year=arguments.first_year, last_year=arguments.last_year, types=tuple(arguments.types)
    )
    passing, counts = record_filter.apply(documents)
    if arguments.exclude_not:
        passing, counts["excluded by NOT"] = _without_excluded(passing, query)
    if counts:
        print(f"mpir: note: left out {format_counts(counts)}; {len(passing)} documents remain", file=sys.stderr)
    return passing


def _without_excluded(documents: Sequence[Document], query: str) -> tuple[list[Document], int]:
    """The documents that NOT does not exclude, and the number of the others.

    Raises:
        InputError: the query excludes nothing, or every document.
    """
    from mpir.core.text.query import read_query

    search = read_query(query)
    if not search.excluded:
        raise InputError("filter.exclude_not: the query excludes nothing (expected NOT, as in 'asthma NOT (child*)').")
    passing = [document for document in documents if not search.excludes(document.text)]
    if documents and not passing:
        raise InputError("filter.exclude_not: NOT excludes every document; narrow what follows it.")
    return passing, len(documents) - len(passing)
