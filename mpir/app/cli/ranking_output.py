"""Options for showing a ranking, and their output, shared by `mpir rerank` and `mpir pubmed`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from mpir.app.cli.number_options import probability
from mpir.app.cli.path_options import add_overwrite_option, text_path
from mpir.app.cli.progress import add_quiet_option
from mpir.errors import InputError
from mpir.files.output_checks import Named, check_files, check_replaceable_file

if TYPE_CHECKING:
    from mpir.core.text import Document
    from mpir.reranking.ranking import Ranking
    from mpir.reranking.reranker import Reranker

FILES: dict[str, Callable[[bytes], bool]] = {
    "html": lambda head: head.lower().startswith(b"<!doctype html>") and b"<title>mpir" in head.lower(),
    "csv": lambda head: head.startswith(b"\xef\xbb\xbfrank,document,"),
    "ris": lambda head: head.startswith(b"TY  - JOUR\nKW  - mpir rank "),
    "nbib": lambda head: head.partition(b"\n")[2].startswith(b"OT  - mpir rank "),
}
"""Options with a file for a single query, each with a test whether a file's first bytes are its own format."""


FORMATS = ("table", "json", "jsonl", "csv", "trec", "ris", "nbib", "html", "md")
_OF_ONE = ("json", "html")
"""Formats for a single query."""


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for how much of a ranking is shown, in which form, and in which additional files."""
    parser.add_argument("--top-k", type=int, metavar="N", help="keep the N best documents (default: all)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--explain", action="store_true", help="tables, and why the best document ranks first")
    form.add_argument("--sentences", type=int, metavar="N", help="a table of the N best sentences of all documents")
    form.add_argument("--json", action="store_true", help="a line of JSON for each query: --format jsonl")
    form.add_argument("--trec", action="store_true", help="lines of a TREC run: --format trec")
    form.add_argument(
        "--format",
        choices=FORMATS,
        help="format of standard output: ris and nbib are references for Zotero, EndNote and Rayyan, md is Markdown "
        "(default: table)",
    )
    parser.add_argument(
        "--min-probability", type=probability, metavar="P", help="show only documents of at least this probability"
    )
    parser.add_argument(
        "--join",
        type=float,
        metavar="SHARE",
        help="join neighbouring sentences if the second scores at least this share of the first, such as 0.8",
    )
    add_quiet_option(parser)
    parser.add_argument(
        "--html", type=text_path, metavar="FILE", help="also write a page that explains the ranking of a single query"
    )
    parser.add_argument(
        "--csv", type=text_path, metavar="FILE", help="also write the tables of all queries, for a spreadsheet"
    )
    for name in ("ris", "nbib"):
        parser.add_argument(
            f"--{name}",
            type=text_path,
            metavar="FILE",
            help=f"also write the documents as references ({name})",
        )
    add_overwrite_option(parser)


def check_output_options(arguments: argparse.Namespace, read: Iterable[Named] = ()) -> None:
    """Refuse, before any work, conflicting output options, and files that are not writable or are inputs.

    Raises:
        InputError: --html with --top-k, or --join with a form without sentences or a share outside 0 to 1.
        OutputError: a file is not writable, is an input, or was not written by its option.
    """
    if arguments.join is not None:
        from mpir.core.passages import check_share

        check_share("--join", arguments.join)
        if arguments.explain or arguments.trec or arguments.html:
            raise InputError("--join applies to lists of sentences; leave --explain, --trec and --html out.")
    as_page = arguments.html or arguments.format == "html"
    if as_page and arguments.min_probability is not None:
        raise InputError("a page shows all documents, because each may move up; leave --min-probability out.")
    if arguments.format == "html" and arguments.top_k is not None:
        raise InputError("--format html shows all documents, because each may move up; leave --top-k out.")
    if arguments.html and arguments.top_k is not None:
        raise InputError("--html shows all documents, because each may move up; leave --top-k out.")
    check_files(
        [(f"--{name}", getattr(arguments, name)) for name in FILES],
        [
            *read,
            *(("--triggers", path) for path in arguments.triggers or []),
            *((f"--{name}", getattr(arguments, name)) for name in ("lexicon", "weights", "bundle")),
        ],
    )
    for name, is_own in FILES.items():
        check_replaceable_file(f"--{name}", getattr(arguments, name), is_own, overwrite=arguments.overwrite)


def files_of(arguments: argparse.Namespace) -> list[str]:
    """The options that write the ranking of a single query."""
    of_one = [f"format {arguments.format}"] if arguments.format in _OF_ONE else []
    return [name for name in FILES if name != "csv" and getattr(arguments, name)] + of_one


def needs_all(arguments: argparse.Namespace) -> bool:
    """Whether `write_tables` will write one table of all queries."""
    return bool(arguments.csv or arguments.format == "csv")


def write_tables(arguments: argparse.Namespace, rankings: Sequence[tuple[str, Ranking]]) -> None:
    """Write the table of all queries to --csv, and to standard output where the format is csv."""
    from mpir.files.write import atomic_write
    from mpir.reranking.render.spreadsheet import spreadsheet

    if not needs_all(arguments):
        return
    text = spreadsheet(rankings, arguments.sentences)
    if arguments.format == "csv":
        sys.stdout.write(text)
    if arguments.csv:
        with atomic_write(arguments.csv) as stream:
            stream.write(text)


def write_ranking(
    arguments: argparse.Namespace,
    identifier: str,
    ranking: Ranking,
    *,
    documents: Sequence[Document],
    reranker: Reranker,
    details: Mapping[str, Any] | None = None,
) -> Ranking:
    """Write the files of a query's ranking, then print it in the chosen form; JSON also includes the `details`.

    Returns the ranking as shown, for `write_tables`.
    """
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    ranking = visible_ranking(arguments, ranking)
    _write_files(arguments, ranking, documents)
    if arguments.format == "csv":
        return ranking
    if arguments.format not in (None, "table", "jsonl", "trec"):
        shown = {"id": identifier, **(details or {})}
        sys.stdout.write(_formatted(arguments, ranking, documents=documents, details=shown))
        return ranking
    _print(arguments, identifier, ranking, width=width, details=details or {})
    if arguments.explain and ranking.documents:
        from mpir.reranking.render.text import reasons

        text = documents[ranking[0].index].text
        print("\n".join([ranking.explain(), *reasons(reranker.perspectives, ranking, text)]), end="\n\n")
    sys.stdout.flush()
    return ranking


def _print(
    arguments: argparse.Namespace,
    identifier: str,
    ranking: Ranking,
    *,
    width: int | None,
    details: Mapping[str, Any],
) -> None:
    """Print the ranking in the chosen form; a table's `width` is None if the output is not a terminal."""
    from mpir.core.stopping import reading_advice

    if line_format(arguments):
        sys.stdout.write(ranking_lines(arguments, identifier, ranking, details))
    elif arguments.sentences:
        print(ranking.sentence_table(arguments.sentences, width), end="\n\n")
    else:
        advice = reading_advice(ranking)
        print(ranking.table(width) + (f"\n\n{advice}" if advice else ""), end="\n\n")


def line_format(arguments: argparse.Namespace) -> str:
    """The format of standard output if it is line-based, "trec" or "jsonl"; "" otherwise."""
    if arguments.trec or arguments.format == "trec":
        return "trec"
    return "jsonl" if not arguments.sentences and (arguments.json or arguments.format == "jsonl") else ""


def ranking_lines(
    arguments: argparse.Namespace, identifier: str, ranking: Ranking, details: Mapping[str, Any] | None = None
) -> str:
    """The lines of a ranking in the `line_format`."""
    if line_format(arguments) == "trec":
        return ranking.to_trec(identifier)
    return json.dumps({"id": identifier, **ranking.to_dict(), **(details or {})}, ensure_ascii=False) + "\n"


def visible_ranking(arguments: argparse.Namespace, ranking: Ranking) -> Ranking:
    """A ranking with joined sentences, reduced to the documents that the options select."""
    if arguments.join is not None:
        ranking = ranking.joined(arguments.join)
    return ranking if arguments.min_probability is None else ranking.above(arguments.min_probability)


def _formatted(
    arguments: argparse.Namespace, ranking: Ranking, *, documents: Sequence[Document], details: Mapping[str, Any]
) -> str:
    """The ranking as text in a format."""
    if arguments.format == "html":
        from mpir.app.explain.page import page_data, page_with

        return page_with(page_data(ranking, documents, _ranked_by(arguments)))
    if arguments.format == "json":
        return json.dumps({**details, **ranking.to_dict()}, ensure_ascii=False, indent=1) + "\n"
    render = {"ris": ranking.to_ris, "nbib": ranking.to_nbib, "md": ranking.to_markdown}
    return render[arguments.format]()


def _ranked_by(arguments: argparse.Namespace) -> str:
    """The name of the models or the bundle used for ranking."""
    bundle = [] if getattr(arguments, "only_model", False) else [getattr(arguments, "bundle", "")]
    names = [*bundle, *getattr(arguments, "models", [])]
    return " + ".join(Path(name).name for name in names if name)


def _write_files(arguments: argparse.Namespace, ranking: Ranking, documents: Sequence[Document]) -> None:
    from mpir.files.write import atomic_write

    if arguments.html:
        from mpir.app.explain.page import page_data, page_with

        with atomic_write(arguments.html) as stream:
            stream.write(page_with(page_data(ranking, documents, _ranked_by(arguments))))
    for name, render in (("ris", ranking.to_ris), ("nbib", ranking.to_nbib)):
        if getattr(arguments, name):
            with atomic_write(getattr(arguments, name)) as stream:
                stream.write(render())
