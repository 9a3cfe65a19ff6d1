"""Forms of a ranking on standard output and in files, shared by `mpir rerank` and `mpir pubmed`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from mpir.app.cli.common_options import OverwriteArguments, QuietArguments
from mpir.app.cli.model_options import WeightedArguments
from mpir.app.cli.option import flag, option, setting
from mpir.app.cli.value_options import output_path, positive, probability
from mpir.errors import InputError
from mpir.files.output_checks import Named, Output, are_rankings, check_outputs, is_run
from mpir.plugins import WRITERS, load_plugin, plugins_of

if TYPE_CHECKING:
    from mpir.core.text import Document
    from mpir.reranking.ranking import Ranking
    from mpir.reranking.reranker import Reranker

OUTPUT = "--output"
LINES = ("jsonl", "trec")
"""Forms of a line for each query or document."""
ROWS = 10
"""Documents that a table shows without --top-k; files hold all."""
OF_ONE = ("json", "html", "ris", "nbib")
"""Forms of files for a single query."""
FORMS: dict[str, Callable[[bytes], bool]] = {
    "html": lambda head: head.lower().startswith(b"<!doctype html>") and b"<title>mpir" in head.lower(),
    "csv": lambda head: head.startswith(b"\xef\xbb\xbfrank,document,"),
    "ris": lambda head: head.startswith(b"TY  - JOUR\nKW  - mpir rank "),
    "nbib": lambda head: head.partition(b"\n")[2].startswith(b"OT  - mpir rank "),
    "md": lambda head: head.startswith(b"## ") and b"\n\n| rank | " in head,
    "json": lambda head: head.startswith(b'{\n "id": ') and b'\n "query": ' in head,
    "jsonl": are_rankings,
    "trec": is_run,
}
"""Forms of files by suffix, each with a test whether a file's first bytes are of the form."""


@dataclass(frozen=True, kw_only=True)
class RankingArguments(WeightedArguments, OverwriteArguments, QuietArguments):
    """A reranker, and the forms in which its rankings are shown and written."""

    outputs: Sequence[Path] = option(
        "--output",
        help="also write the ranking: its suffix tells the form (.html, .csv, .ris, .nbib, .md, .json, .jsonl, "
        ".trec); may be given several times",
        type=output_path,
        default=[],
        action="append",
        metavar="FILE",
    )
    format: str | None = option(
        "--format",
        help="form of standard output: ris and nbib are references for Zotero, EndNote and Rayyan, md is Markdown "
        "(default: table)",
        choices=("table", "json", "jsonl", "csv", "trec", "ris", "nbib", "html", "md"),
    )
    top_k: int | None = option(
        "--top-k",
        help="show the N best documents (default: 10 in a table, all in files; a page always has all)",
        type=int,
        metavar="N",
    )
    sentences: int | None = option(
        "--sentences", help="a table of the N best sentences of all documents", type=positive, metavar="N"
    )
    explain: bool = flag("--explain", help="tables, and why the best document ranks first")
    min_probability: float | None = setting(
        "output.min_probability", help="show only documents of at least this probability", type=probability, metavar="P"
    )
    overwrite: bool = flag("--overwrite", help="replace an existing output file, whoever wrote it", advanced=True)


@dataclass(frozen=True, kw_only=True)
class ShownRanking:
    """The ranking of a query as far as the options select it, the whole ranking, its documents and further facts."""

    identifier: str
    ranking: Ranking
    full_ranking: Ranking
    documents: Sequence[Document]
    details: Mapping[str, Any] = field(default_factory=dict)


def form_of(arguments: RankingArguments, path: Path) -> str:
    """The form of a file: by its suffix, else by --format. Raises InputError for an unknown one."""
    suffix = path.suffix.lower().lstrip(".")
    if suffix in FORMS or suffix in plugins_of(WRITERS):
        return suffix
    form = arguments.format
    if form is None or form not in FORMS:
        raise InputError(f"{path}: unknown form (expected a suffix of {', '.join(FORMS)}, or --format).")
    return form


def _has_form(form: str) -> Callable[[bytes], bool]:
    """The test whether a file's first bytes are of a form, mpir's own or of an installed package."""
    if form in FORMS:
        return FORMS[form]
    test: Callable[[bytes], bool] = load_plugin(WRITERS, form).has_form
    return test


def check_output_options(arguments: RankingArguments, read: Iterable[Named] = ()) -> None:
    """Refuse, before any work, conflicting output options, and files that are not writable or are inputs.

    Raises:
        InputError: two options that each choose a form.
        OutputError: a file is not writable, is an input, or was not written by mpir.
    """
    forms = {path: form_of(arguments, path) for path in arguments.outputs}
    if arguments.explain + bool(arguments.sentences) + (arguments.format is not None) > 1:
        raise InputError("--explain, --sentences and --format each choose a form; give one of them.")
    files: list[Named] = [("--lexicon", arguments.lexicon), ("--weights", arguments.weights)]
    files += [("--bundle", arguments.bundle), *(("lexicon.triggers", path) for path in arguments.triggers or ())]
    check_outputs(
        [Output(OUTPUT, path, _has_form(form)) for path, form in forms.items()],
        [*read, *files],
        overwrite=arguments.overwrite,
    )


def forms_of_one(arguments: RankingArguments) -> list[str]:
    """The chosen forms that have the ranking of a single query."""
    stdout = [f"--format {arguments.format}"] if arguments.format in ("json", "html") else []
    return [f"{OUTPUT} {path}" for path in arguments.outputs if form_of(arguments, path) in OF_ONE] + stdout


def has_trec(arguments: RankingArguments) -> bool:
    """Whether a TREC run is printed or written, which needs ids without white space."""
    return "trec" in (arguments.format, *(form_of(arguments, path) for path in arguments.outputs))


def needs_all(arguments: RankingArguments) -> bool:
    """Whether `write_files` will write anything."""
    return bool(arguments.outputs or arguments.format == "csv")


def write_files(arguments: RankingArguments, shown: Sequence[ShownRanking]) -> None:
    """Write the rankings of all queries to the files, and as a table to standard output where the format is csv."""
    from mpir.files.write import atomic_write

    if arguments.format == "csv":
        sys.stdout.write(_rendered("csv", arguments, shown))
    for path in arguments.outputs:
        text = _rendered(form_of(arguments, path), arguments, shown)
        with atomic_write(path) as stream:
            stream.write(text)


def show_ranking(
    arguments: RankingArguments,
    identifier: str,
    ranking: Ranking,
    *,
    documents: Sequence[Document],
    reranker: Reranker,
    details: Mapping[str, Any] | None = None,
    note: str = "",
) -> ShownRanking:
    """Print a query's whole ranking in the chosen form; return it for `write_files`.

    JSON has the `details`, too. A `note` stands below the table in place of the expected number of relevant documents.
    """
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    full_ranking, ranking = ranking, visible_ranking(arguments, ranking)
    shown = ShownRanking(
        identifier=identifier, ranking=ranking, full_ranking=full_ranking, documents=documents, details=details or {}
    )
    if arguments.format in (None, "table"):
        _print_tables(arguments, ranking, width, note)
    elif arguments.format != "csv":
        sys.stdout.write(_rendered(arguments.format, arguments, [shown]))
    if arguments.explain and ranking.documents:
        from mpir.reranking.render.text import reasons

        text = documents[ranking[0].index].text
        print("\n".join([ranking.explain(), *reasons(reranker.perspectives, ranking, text)]), end="\n\n")
    sys.stdout.flush()
    return shown


def _print_tables(arguments: RankingArguments, ranking: Ranking, width: int | None, note: str) -> None:
    """Print a table of documents or sentences; its `width` is None if the output is not a terminal."""
    from mpir.core.stopping import reading_notes

    if arguments.sentences:
        print(ranking.sentence_table(arguments.sentences, width), end="\n\n")
    else:
        notes = [*([note] if note else reading_notes(ranking)), _hidden_note(arguments, ranking)]
        rows = ranking.top(arguments.top_k or ROWS)
        print("\n\n".join([rows.table(width), *filter(None, notes)]), end="\n\n")


def _hidden_note(arguments: RankingArguments, ranking: Ranking) -> str:
    """Return a sentence about the documents that the table leaves out; an empty string if it has all."""
    if arguments.top_k or len(ranking) <= ROWS:
        return ""
    return f"{len(ranking) - ROWS} more documents: --top-k {len(ranking)} shows them, --output FILE.html saves them."


def ranking_lines(form: str, identifier: str, ranking: Ranking, details: Mapping[str, Any] | None = None) -> str:
    """The lines of a ranking in a form of lines."""
    if form == "trec":
        return ranking.to_trec(identifier)
    return json.dumps({"id": identifier, **ranking.to_dict(), **(details or {})}, ensure_ascii=False) + "\n"


def visible_ranking(arguments: RankingArguments, ranking: Ranking) -> Ranking:
    """A ranking, reduced to the documents that the options select."""
    if arguments.top_k is not None:
        ranking = ranking.top(arguments.top_k)
    return ranking if arguments.min_probability is None else ranking.above(arguments.min_probability)


def _rendered(form: str, arguments: RankingArguments, shown: Sequence[ShownRanking]) -> str:
    """The rankings as text in a form."""
    if form == "csv":
        from mpir.reranking.render.spreadsheet import spreadsheet

        return spreadsheet([(item.identifier, item.ranking) for item in shown], arguments.sentences)
    if form not in FORMS:
        return str(load_plugin(WRITERS, form).write([(item.identifier, item.ranking) for item in shown]))
    return "".join(_rendered_ranking(form, arguments, item) for item in shown)


def _rendered_ranking(form: str, arguments: RankingArguments, shown: ShownRanking) -> str:
    """One ranking as text in a form."""
    ranking = shown.ranking
    if form in LINES:
        return ranking_lines(form, shown.identifier, ranking, shown.details)
    if form == "html":
        from mpir.app.explain.page import page_data, page_with

        return page_with(page_data(shown.full_ranking, shown.documents, _ranked_by(arguments)))
    if form == "json":
        record = {"id": shown.identifier, **shown.details, **ranking.to_dict()}
        return json.dumps(record, ensure_ascii=False, indent=1) + "\n"
    return {"ris": ranking.to_ris, "nbib": ranking.to_nbib, "md": ranking.to_markdown}[form]()


def _ranked_by(arguments: RankingArguments) -> str:
    """The name of the models or the bundle used for ranking."""
    names = [*([] if arguments.only_model else [arguments.bundle]), *arguments.models]
    return " + ".join(Path(name).name for name in names if name)
