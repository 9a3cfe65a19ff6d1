"""``mpir search``: the first stage on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from mpir.app.cli.first_stage import SearchArguments, nearest_sentences, open_first_stage
from mpir.app.cli.option import option, positional
from mpir.app.cli.value_options import query_text, text_path
from mpir.errors import InputError, format_value
from mpir.files.read import STDIN, at_terminal, parse_object, place_of, read_lines
from mpir.validation import whole_number

if TYPE_CHECKING:
    from mpir.core.text.types import Document, Sentence

    Nearest = tuple[Sentence, float]

EPILOG = """\
Queries are arguments, or lines on standard input (plain text, or JSON objects with "query" or "body" and an optional
"id"), or come from --queries: BioASQ's JSON, JSON lines, lines of id and text, or TREC topics. A terminal shows a
table; a pipe gets one JSON object per query, in the order of the queries:
  {"id": "1", "query": "…", "documents": [{"id": "…", "title": "…", "abstract": "…", "score": 7.1234}, …]}

--mode dense searches by vectors, which `mpir index --dense` makes, and --mode hybrid by BM25 and vectors: it fuses
their ranks, or scales and adds their scores (--set search.fusion=sum). Each document of a hybrid search also has
"scores", BM25's and the vectors' by name, which `mpir rerank` uses as columns.

examples:
  mpir search --index pubmed-index "role of p53 in apoptosis"
  mpir search --index pubmed-index --mode hybrid "role of p53 in apoptosis"
  mpir search --index pubmed-index --top-k 100 < questions.jsonl > candidates.jsonl
  mpir search --index baseline-index --index updates-index "role of p53 in apoptosis"
"""
BATCH = 64


@dataclass(frozen=True, kw_only=True)
class SearchCommandArguments(SearchArguments):
    """The arguments of `mpir search`."""

    queries: Sequence[str] = positional(
        help="what to search for (default: standard input)", type=query_text, default=[], nargs="*", metavar="QUERY"
    )
    query_file: str | None = option(
        "--queries", help="queries from a file: .json, .jsonl, .tsv, or topics", type=text_path, metavar="FILE"
    )
    index: Sequence[str] = option(
        "--index",
        help="folder that `mpir index` made, or an index in an engine (opensearch+https://HOST/NAME, elasticsearch+…, "
        "milvus+…); several folders, each with --index, are searched as one",
        type=text_path,
        required=True,
        action="append",
        metavar="DIR",
    )
    format: str | None = option(
        "--format",
        help="default: table at a terminal, jsonl in a pipe, which `mpir rerank` reads",
        choices=("table", "jsonl", "trec"),
    )
    top_k: int = option(
        "--top-k", "--k", help="documents for each query (%(default)s)", type=int, default=10, metavar="N"
    )


def run(arguments: SearchCommandArguments) -> int:
    """Search and print; 0 is the exit status. Raises MpirError for a user's mistake."""
    whole_number("--top-k", arguments.top_k)
    render = _RENDERERS[arguments.format or ("table" if sys.stdout.isatty() else "jsonl")]
    queries = _queries(arguments)
    with closing(open_first_stage(arguments, arguments.index)) as index:
        while batch := list(islice(queries, BATCH)):
            results = index.search_batch([query for _, query in batch], arguments.top_k)
            for (identity, query), documents in zip(batch, results, strict=True):
                nearest = nearest_sentences(index, query, documents)
                if text := render(identity, query, documents, nearest):
                    print(text, flush=True)
    return 0


def _queries(arguments: SearchCommandArguments) -> Iterator[tuple[str, str]]:
    """Yield (id, query) from arguments, a file or standard input. Raises InputError for two sources."""
    if arguments.query_file and arguments.queries:
        raise InputError("both --queries and a QUERY are given; give one of them.")
    if arguments.query_file:
        from mpir.files.corpora.queries import read_queries

        return read_queries(arguments.query_file)
    named = ((str(number), query) for number, query in enumerate(arguments.queries, 1))
    return named if arguments.queries else _read()


def _read() -> Iterator[tuple[str, str]]:
    """Yield (id, query) for every non-blank line of standard input; a line without an id gets its number."""
    if at_terminal(sys.stdin):
        raise InputError(
            'there is no query; give one, as in `mpir search --index DIR "p53 apoptosis"`, or pipe some in.'
        )
    for number, line in read_lines(STDIN):
        if line.strip():
            yield _parsed(line, number) if line.lstrip().startswith("{") else (str(number), line)


def _parsed(line: str, number: int) -> tuple[str, str]:
    from mpir.files.corpora.queries import query_id

    location = place_of(STDIN, number)
    record = parse_object(line, location)
    query = record.get("query", record.get("body"))
    if not isinstance(query, str):
        raise InputError(
            f'{location}: "query" is {format_value(query)}; expected a string, as in {{"id": "q1", "query": "p53"}}.'
        )
    return query_id(record, number), query


def _line(identity: str, query: str, documents: Sequence[Document], nearest: Mapping[str, Nearest]) -> str:
    sentence_records = []
    for document in documents:
        record: dict[str, Any] = {"id": document.id, "title": document.title, "abstract": document.abstract}
        record |= {"score": document.score} | ({"scores": dict(document.scores)} if document.scores else {})
        if document.id in nearest:
            sentence, score = nearest[document.id]
            position = {"section": sentence.section, "begin": sentence.begin, "end": sentence.end}
            record["sentence"] = {"text": sentence.text, **position, "score": score}
        sentence_records.append(record)
    return json.dumps({"id": identity, "query": query, "documents": sentence_records})


def _table(_: str, query: str, documents: Sequence[Document], nearest: Mapping[str, Nearest]) -> str:
    from textwrap import shorten

    from tabulate import tabulate

    def cut(text: str, limit: int = 80) -> str:
        """Shorten a text to the width of its column."""
        return shorten(text, limit, placeholder=" …")

    several = sorted({name for document in documents for name in document.scores})
    columns = several if len(several) > 1 else []
    rows = [
        [rank, document.score, *(document.scores[name] for name in columns), document.id]
        + [cut(document.title or document.abstract, 50 if nearest else 80)]
        + ([cut(nearest[document.id][0].text) if document.id in nearest else ""] if nearest else [])
        for rank, document in enumerate(documents, 1)
    ]
    headers = ["", "score", *columns, "id", "title", *(["nearest sentence"] if nearest else [])]
    text = list(range(2 + len(columns), len(headers)))
    table = tabulate(rows, headers, floatfmt=".4f", disable_numparse=text) if rows else "(nothing found)"
    return f"{cut(query, 100)}\n{table}\n"


def _run_lines(identity: str, _: str, documents: Sequence[Document], __: Mapping[str, Nearest]) -> str:
    from mpir.files.corpora.trec import check_ids, run_line

    check_ids(identity, *(document.id for document in documents))
    lines = (run_line(identity, d.id, rank, d.score or 0.0, "mpir") for rank, d in enumerate(documents, 1))
    return "".join(lines).rstrip("\n")


_RENDERERS: dict[str, Callable[[str, str, Sequence[Document], Mapping[str, Nearest]], str]] = {
    "jsonl": _line,
    "table": _table,
    "trec": _run_lines,
}
