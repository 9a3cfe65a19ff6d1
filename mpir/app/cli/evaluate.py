"""``mpir evaluate``: BioASQ's official measures, and standard measures for TREC runs, of one system or several."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.common_options import ComparisonArguments
from mpir.app.cli.option import option
from mpir.app.cli.value_options import text_path

if TYPE_CHECKING:
    from mpir.core.text import Question
    from mpir.evaluate.comparison import Comparison
    from mpir.files.output_checks import Named

log = logging.getLogger(__name__)
PICTURES = ("forest", "differences")
"""The pictures of a comparison."""
EPILOG_BIOASQ = """\
The results equal those of BioASQ's own program (phase A) with its version flag: 2 for BioASQ 1 and 2, 3 for 3 and 4,
5 for 5 to 7, 8 for 8, 9 from BioASQ 9 on. 8 and 9 differ only in gold questions without documents or without
snippets: 9 skips them. Without the flag, BioASQ's program uses 8. A gold question that the submission leaves out is
skipped, as in the official program; --omitted zero counts it as zero.

Several submissions are compared by MAP over the questions that all of them answer: all pairs, with Holm's correction.

examples:
  mpir evaluate bioasq --gold 9B1_golden.json --submission submission.json
  mpir evaluate bioasq --gold 9B1_golden.json --submission bm25.json mine.json --by type --plots pictures
"""
EPILOG_RUN = """\
Measures have the names of ir_measures: nDCG@10, RR, R@100, P@10, AP, Success@5, … Intervals are bootstrapped.
A judged query that the run leaves out counts as zero. Ties are broken as in trec_eval.

Several runs are compared by the first measure: all pairs, with Holm's correction for their number.

examples:
  mpir evaluate run --qrels test.qrels --run bm25.trec --measures nDCG@10 R@1000
  mpir evaluate run --qrels test.qrels --run bm25.trec mine.trec --per-query values.csv --by relevant
"""


@dataclass(frozen=True, kw_only=True)
class EvaluateBioasqArguments(ComparisonArguments):
    """The arguments of `mpir evaluate bioasq`."""

    gold: str = option("--gold", help="gold questions (BioASQ JSON)", type=text_path, required=True, metavar="FILE")
    submission: Sequence[str] = option(
        "--submission",
        help="submitted questions (BioASQ JSON); several are compared",
        type=text_path,
        required=True,
        nargs="+",
        metavar="FILE",
    )
    version: int = option(
        "--version",
        help="version of the measures: 2, 3, 5, 8, or 9 for BioASQ 9 and later (%(default)s)",
        type=int,
        default=9,
        metavar="N",
    )
    omitted: str = option(
        "--omitted",
        help="treatment of gold questions left out (default: skip, as the official program)",
        default="skip",
        choices=("skip", "zero"),
    )
    by: Sequence[str] = option(
        "--by",
        help="break MAP down by type, relevant (their number) or length (words)",
        default=[],
        nargs="+",
        choices=("type", "relevant", "length"),
    )


@dataclass(frozen=True, kw_only=True)
class EvaluateRunArguments(ComparisonArguments):
    """The arguments of `mpir evaluate run`."""

    run_file: Sequence[str] = option(
        "--run",
        help="query Q0 document rank score tag; several are compared",
        type=text_path,
        required=True,
        nargs="+",
        metavar="FILE",
    )
    query_file: str | None = option(
        "--queries", help="the queries' texts, for --by length", type=text_path, metavar="FILE"
    )
    qrels: str = option(
        "--qrels", help="judgements: query 0 document grade", type=text_path, required=True, metavar="FILE"
    )
    by: Sequence[str] = option(
        "--by",
        help="break the first measure down by relevant (their number) or length (words)",
        default=[],
        nargs="+",
        choices=("type", "relevant", "length"),
    )
    measures: Sequence[str] | None = option(
        "--measures", help="default: nDCG@10 RR R@100 P@10 AP", nargs="+", metavar="NAME"
    )


def run_bioasq(arguments: EvaluateBioasqArguments) -> int:
    """Print the official measures of submissions; 0 is the exit status. Raises InputError for bad files."""
    from mpir.bioasq.compare import compare_submissions
    from mpir.bioasq.measures import evaluate, without_unusable
    from mpir.files.corpora.bioasq import read_questions

    _check_outputs(arguments, arguments.submission, [("--gold", arguments.gold)])
    gold = read_questions(arguments.gold)
    submissions = {name: read_questions(path, submission=True) for name, path in _names(arguments.submission).items()}
    how: dict[str, Any] = {"version": arguments.version, "omitted": arguments.omitted}
    gold = without_unusable(gold)
    compared = compare_submissions(gold, submissions, groupings=arguments.by, **how)
    counted = gold if arguments.omitted == "zero" else _answered_by_all(gold, submissions)
    figures = {name: evaluate(counted, submission, **how) for name, submission in submissions.items()}
    _report_uncounted(gold, submissions, omitted=arguments.omitted)
    _report(arguments, figures, compared)
    return 0


def _answered_by_all(gold: Sequence[Question], submissions: Mapping[str, Sequence[Question]]) -> list[Question]:
    """Return the gold questions that every submission answers, on which several can be compared."""
    answered = [{question.id for question in submission} for submission in submissions.values()]
    return [question for question in gold if all(question.id in ids for ids in answered)]


def _report_uncounted(gold: Sequence[Question], submissions: Mapping[str, Sequence[Question]], *, omitted: str) -> None:
    """Log how many questions of a single submission or of its gold are skipped; a comparison says it itself."""
    expected = {question.id for question in gold}
    for name, submission in submissions.items():
        answered = {question.id for question in submission}
        if len(submissions) == 1 and omitted == "skip" and (skipped := len(expected - answered)):
            log.warning(
                "%s: %d of %d gold questions are not in it and are skipped (--omitted zero: 0)",
                name,
                skipped,
                len(expected),
            )
        if unknown := len(answered - expected):
            log.warning(
                "%s: %d of %d questions are not among the gold ones and are ignored", name, unknown, len(answered)
            )


def run_run(arguments: EvaluateRunArguments) -> int:
    """Print the standard measures of TREC runs; 0 is the exit status. Raises InputError for bad files."""
    from mpir.evaluate.ir import DEFAULT_MEASURES, compare_runs
    from mpir.files.corpora.queries import read_queries
    from mpir.files.corpora.trec import read_qrels, read_run

    _check_outputs(arguments, arguments.run_file, [("--qrels", arguments.qrels), ("--queries", arguments.query_file)])
    qrels = read_qrels(arguments.qrels)
    texts = dict(read_queries(arguments.query_file)) if arguments.query_file else {}
    runs = {name: read_run(path) for name, path in _names(arguments.run_file).items()}
    measures = arguments.measures or DEFAULT_MEASURES
    comparison = compare_runs(qrels, runs, measures, groupings=arguments.by, texts=texts)
    for name, run in runs.items():
        if absent := len(qrels.keys() - run.keys()):
            log.warning("%s: %d of %d judged queries are not in it and count as zero", name, absent, len(qrels))
        if unjudged := len(run.keys() - qrels.keys()):
            log.warning("%s: %d of %d queries are not judged and are ignored", name, unjudged, len(run))
    figures = {name: {measure: comparison.total(name, measure) for measure in measures} for name in comparison.systems}
    _report(arguments, figures, {"": comparison})
    return 0


def _names(paths: Sequence[str]) -> dict[str, str]:
    """A short name for each file: without folder and suffix where these names differ."""
    stems = [Path(path).stem for path in paths]
    return dict(zip(stems if len(set(stems)) == len(paths) else paths, paths, strict=True))


def _check_outputs(arguments: ComparisonArguments, read: Sequence[str], inputs: Sequence[Named]) -> None:
    """Raise InputError or OutputError for outputs that cannot be written, and for one file that is given twice."""
    from mpir.errors import InputError
    from mpir.files.output_checks import Output, are_values, check_outputs, is_picture
    from mpir.files.write import check_folder

    if repeated := {path for path in read if list(read).count(path) > 1}:
        raise InputError(f"{min(repeated)} is given twice; name each system once.")
    pictures: list[Output] = []
    if arguments.plots:
        if len(read) < 2:
            raise InputError("--plots draws differences between systems; give two or more.")
        check_folder(arguments.plots)
        pictures = [Output("--plots", arguments.plots / name, is_picture) for name in picture_names()]
    values = Output("--per-query", arguments.per_query, are_values)
    check_outputs([values, *pictures], [*inputs, *(("an input", path) for path in read)])


def picture_names() -> list[str]:
    """The files that --plots may write."""
    from mpir.bioasq.compare import LEVELS

    kinds = [_picture(level, kind) for level in ("", *LEVELS) for kind in PICTURES]
    return [f"{kind}{suffix}" for kind in kinds for suffix in (".png", ".svg")]


def _picture(level: str, kind: str) -> str:
    return "-".join(filter(None, (level, kind)))


def _report(arguments: ComparisonArguments, figures: Mapping[str, Any], compared: Mapping[str, Comparison]) -> None:
    from mpir.evaluate.comparison_tables import describe, write_values

    if arguments.format == "json":
        print(json.dumps(_as_json(figures, compared), ensure_ascii=False))
    else:
        tables = _several_systems if len(figures) > 1 else _single_system
        print(tables(figures, compared))
        print(
            "\n".join(
                f"\n{f'{level} ' if level else ''}{text}" for level in compared if (text := describe(compared[level]))
            )
        )
    if arguments.per_query:
        write_values(arguments.per_query, compared)
    if arguments.plots:
        _draw(arguments.plots, compared)


def _as_json(figures: Mapping[str, Any], compared: Mapping[str, Comparison]) -> Any:
    """The figures of one system as they are; of several, or with breakdowns, by name with their comparison."""
    figures = _without_nan(figures)
    if len(figures) == 1 and not any(comparison.groups for comparison in compared.values()):
        return next(iter(figures.values()))
    described = {level: comparison.to_dict() for level, comparison in compared.items()}
    return {"systems": figures, "comparison": described.get("", described)}


def _without_nan(values: Any) -> Any:
    """Replace NaN, of a measure that is undefined for all queries, by None, as JSON has no NaN."""
    if isinstance(values, Mapping):
        return {name: _without_nan(value) for name, value in values.items()}
    return None if isinstance(values, float) and math.isnan(values) else values


def _single_system(figures: Mapping[str, Any], compared: Mapping[str, Comparison]) -> str:
    """A row for each measure, with its intervals."""
    from tabulate import tabulate

    from mpir.evaluate.comparison_tables import format_interval

    ((name, values),) = figures.items()
    columns: Mapping[str, Mapping[str, float]] = {"mean": values} if "" in compared else values
    rows = [[measure] for measure in next(iter(columns.values()))]
    for level, by_measure in columns.items():
        comparison = compared.get("" if "" in compared else level)
        for row in rows:
            known = comparison is not None and row[0] in comparison.measures
            interval = comparison.interval(name, row[0]) if comparison and known else None
            row += [f"{by_measure[row[0]]:.4f}", format_interval(interval)]
    headers = ["measure", *(header for level in columns for header in (level, "95 %"))]
    return tabulate(rows, headers, disable_numparse=True)


def _several_systems(figures: Mapping[str, Any], compared: Mapping[str, Comparison]) -> str:
    """A row for each system, with intervals, in one table for each level; GMAP is not a mean over questions."""
    from mpir.evaluate.comparison import count_queries
    from mpir.evaluate.comparison_tables import means_table

    tables = []
    for level, comparison in compared.items():
        further = {name: {"gmap": levels[level]["gmap"]} for name, levels in figures.items()} if level else None
        title = f"{level}, " if level else ""
        tables.append(f"{title}{count_queries(len(comparison.queries))}\n\n{means_table(comparison, further)}")
    return "\n\n".join(tables)


def _draw(folder: Path, compared: Mapping[str, Comparison]) -> None:
    from mpir.evaluate.comparison_tables import difference_plot, forest_plot

    folder.mkdir(parents=True, exist_ok=True)
    for level, comparison in compared.items():
        if comparison.main:
            for kind, plot in zip(PICTURES, (forest_plot, difference_plot), strict=True):
                plot(folder / _picture(level, kind), comparison)
