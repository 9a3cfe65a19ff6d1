"""The cost and loss of the cascade: the quality-time curve of a first pass over sentences.

    mpir score --questions 5B?_golden.json --index INDEX --set score.gold_in_index=true --k 100 \\
        --output runs/cascade/dev
    python -m experiments.cascade.words --scored runs/cascade/dev --output runs/cascade/results

A first pass only leaves sentences out, so a scored set has everything that the curve needs, and no model runs. For each
first pass and share, the sentences that it would leave out are removed, the rest is blended with the bundle's weights,
and the answers are measured against the same gold as without it. These results are printed and written to OUTPUT
(tables.md, results.json, cascade.png): the shipped first pass with intervals and p-values (paired randomisation test,
Holm-corrected over the column), the other first passes, the effect of the reranker's rule for fewer candidates, the
chosen share, and the processor time of the first pass per sentence, on the sample. The chosen share is the smallest
that, like every larger one, loses at most 0.002 document MAP at the low end of the 95 % interval, so that chance does
not decide.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tabulate import tabulate

import mpir
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path
from mpir.bioasq.measures import DIVISORS
from mpir.core.blend import blend, document_order
from mpir.core.columns import Columns
from mpir.core.text.split import sentences as split_sentences
from mpir.core.weights import Weights
from mpir.errors import InputError, OutputError
from mpir.evaluate import bootstrap_interval, holm, randomisation_test
from mpir.evaluate.figure import COLOURS, STYLE
from mpir.files.corpora import read_jsonl, read_questions
from mpir.files.output_checks import Form, Output, are_figures, check_outputs, is_picture
from mpir.files.weights import read_weights
from mpir.files.write import atomic_write, write_json
from mpir.models.perspectives import open_bundle
from mpir.reranking.cascade import DEFAULT_SHARE, FEWEST, first_pass, most_promising, part_of, promise
from mpir.search.memory import MemoryIndex
from mpir.tune.dataset import CANDIDATE_ARRAYS, OF_DOCUMENTS, Dataset
from mpir.tune.measures import MEASURES
from mpir.tune.submissions import Pool
from mpir.types import F64, I64

Promise = Callable[[F64, F64, I64], F64]
Choose = Callable[[F64, F64, I64], I64]
Figures = dict[str, F64]
SHARES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1)
SHOWN = ("document-map", "document-f1", "snippet-map", "snippet-f1", "sentence-map")
DEPTHS = (5, 10, 20, 30, 50)
BOUND = 0.002
SAMPLE = Path(mpir.__file__).parent / "sample"


def within_document(values: F64, document_of: I64) -> I64:
    """Each sentence's rank (N,) by value inside its document, from 0; the earlier of equal ones first."""
    order = np.lexsort((-values, document_of))
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values)) - np.searchsorted(document_of, document_of)
    return ranks


SHIPPED = "sentence and document"
FIRST_PASSES: dict[str, Promise] = {
    SHIPPED: promise,
    "sentence only": lambda lexical, bm25, of: lexical,
    "document only": lambda lexical, bm25, of: bm25[of],
    "as many of each document": lambda lexical, bm25, of: -within_document(lexical, of).astype(float),
    "from the start of each document": lambda lexical, bm25, of: -within_document(np.zeros(len(of)), of).astype(float),
}


def main() -> int:
    """Simulate, measure, choose, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--scored", type=file_path, required=True, help="questions that `mpir score` scored")
    parser.add_argument("--bundle", type=text_path, default="default", help="the bundle that scored them (%(default)s)")
    parser.add_argument("--weights", type=text_path, help="weights instead of the bundle's: a file, or equal")
    parser.add_argument(
        "--version", type=int, choices=sorted(DIVISORS), default=8, help="of the official measures (%(default)s)"
    )
    parser.add_argument("--output", type=file_path, required=True, help="folder for results")
    arguments = parser.parse_args()
    return guarded("cascade", lambda: run(arguments))


are_tables = re.compile(rb"\d+ questions, \d+ candidates and \d+ sentences each").match
"""Whether a file has the tables of a first pass."""


def run(arguments: argparse.Namespace) -> int:
    """The whole experiment."""
    forms: dict[str, Form] = {"tables.md": are_tables, "results.json": are_figures, "cascade.png": is_picture}
    check_outputs(Output("--output", arguments.output / name, form) for name, form in forms.items())
    scored = Dataset.load(arguments.scored)
    weights = choose_weights(arguments, scored)
    curve = Curve(scored, weights, arguments.version)
    points = {name: [curve.point(name, share) for share in SHARES] for name in FIRST_PASSES}
    size = len(scored.documents) / len(scored.questions)
    heading = (
        f"{len(scored.questions)} questions, {size:.0f} candidates and "
        f"{len(scored.begin) / len(scored.questions):.0f} sentences each, {(scored.lexical == 0).mean():.0%} of which "
        "share no word with the question; all sentences scored: "
        + ", ".join(f"{name} {curve.whole[name].mean():.4f}" for name in SHOWN)
    )
    losses = [(share, figures["document-map"]) for share, _, figures in points[SHIPPED]]
    best = chosen([(share, bootstrap_interval(values)[0]) for share, values in losses])
    by_mean = chosen([(share, float(values.mean())) for share, values in losses])
    verdict = f"Chosen share: {best} (the mean alone would choose {by_mean})."
    cost = f"First pass: {1e6 * seconds_a_sentence():.0f} µs a sentence (splitting not counted), on the sample."
    depths = [(count, Curve(first_candidates(scored, count), weights, arguments.version)) for count in DEPTHS]
    depths = [(count, values) for count, values in depths if len(values.scored.documents) < len(scored.documents)]
    by_depth = depth_table([*depths, (round(size), curve)])
    text = "\n\n".join([heading, shipped_table(points[SHIPPED]), *other_tables(points), by_depth, verdict, cost])
    with atomic_write(arguments.output / "tables.md") as stream:
        stream.write(text + "\n")
    write_json(arguments.output / "results.json", results(curve, points, best))
    draw(arguments.output / "cascade.png", points)
    print(text)
    return 0


def choose_weights(arguments: argparse.Namespace, scored: Dataset) -> Weights:
    """The weights that are asked for. Raises InputError if they were tuned on other models than scored the set."""
    if arguments.weights == "equal":
        return Weights.equal(scored.columns.layout.sentences, scored.columns.layout.documents)
    bundle = open_bundle(arguments.bundle)
    source = arguments.weights or f"{bundle.folder}: weights"
    weights = read_weights(source) if arguments.weights else Weights.from_dict(bundle.weights, source)
    tuned, used = (dict(settings.get("perspectives", {})) for settings in (weights.made_by, scored.made_by))
    for name in tuned.keys() & used.keys():
        if tuned[name] != used[name]:
            raise InputError(
                f"{source}: tuned on another model of {name!r} ({tuned[name]}) than scored {arguments.scored} "
                f"({used[name]}); score the questions with this bundle."
            )
    return weights.align_to(scored.columns.layout, str(source))


def first_candidates(scored: Dataset, count: int) -> Dataset:
    """The set with the first documents of each question only, best by the first stage first."""
    columns = scored.columns
    order = document_order(columns, np.zeros(len(columns.documents)))
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order)) - np.searchsorted(columns.query_of, columns.query_of)
    documents = position < count
    sentences = documents[columns.document_of]
    subset = replace(
        columns,
        documents=columns.documents[documents],
        query_of=columns.query_of[documents],
        document_of=(np.cumsum(documents) - 1)[columns.document_of[sentences]],
        sentences=columns.sentences[sentences],
    )
    columns_kept = {
        name: getattr(scored, name)[documents if name in OF_DOCUMENTS else sentences] for name in CANDIDATE_ARRAYS
    }
    return replace(scored, columns=subset, **columns_kept)


class Curve:
    """Measures of a scored set, all of it and with sentences left out, against the same gold."""

    def __init__(self, scored: Dataset, weights: Weights, version: int = 8) -> None:
        """Prepare the labels. Raises InputError without gold."""
        self.scored, self.weights, self.version = scored, weights, version
        self.pool = Pool(scored)
        self.whole = self.measured(np.arange(len(scored.begin)))

    def measured(self, rows: I64, columns: Columns | None = None) -> Figures:
        """Each measure's values (Q,) if only these sentences had been scored, by these columns of all sentences."""
        columns = columns or self.scored.columns
        subset = replace(columns, document_of=columns.document_of[rows], sentences=columns.sentences[rows])
        blended = blend(subset, self.weights)
        values = np.full(len(columns.document_of), -np.inf)
        values[rows] = blended.sentences
        answers = self.pool.answers(blended.documents, values)
        return {name: MEASURES[name](answers, self.version) for name in SHOWN}

    def point(self, name: str, share: float) -> tuple[float, float, Figures]:
        """The share asked for, the share scored, and each measure's differences (Q,) from scoring everything."""

        def choose(lexical: F64, bm25: F64, document_of: I64) -> I64:
            values = FIRST_PASSES[name](lexical, bm25, document_of)
            return most_promising(values, document_of, part_of(share, len(document_of)))

        return (share, *self.lost(choose))

    def lost(self, choose: Choose) -> tuple[float, Figures]:
        """The share scored, and each measure's differences (Q,) from scoring everything."""
        rows = self.chosen_rows(choose)
        figures = self.measured(rows)
        counted = {key: figures[key] - self.whole[key] for key in SHOWN}
        return len(rows) / len(self.scored.begin), {key: values[~np.isnan(values)] for key, values in counted.items()}

    def chosen_rows(self, choose: Choose) -> I64:
        """The sentences that a first pass lets through, question by question as the reranker does it."""
        columns, rows_kept = self.scored.columns, []
        documents = np.searchsorted(columns.query_of, np.arange(len(self.scored.questions) + 1))
        rows = np.searchsorted(columns.document_of, documents)
        for first, last, start, end in zip(documents, documents[1:], rows, rows[1:], strict=False):
            document_of = np.asarray(columns.document_of[start:end]) - first
            lexical = np.asarray(self.scored.lexical[start:end])
            rows_kept.append(start + choose(lexical, np.asarray(columns.first_stage[first:last]), document_of))
        return np.concatenate(rows_kept)


def chosen(points: Iterable[tuple[float, float]], bound: float = BOUND) -> float | None:
    """The smallest share that, like every greater one, has a difference of at least -`bound`; None if none has."""
    best = None
    for share, difference in sorted(points, reverse=True):
        if difference < -bound:
            break
        best = share
    return best


def shipped_table(points: Sequence[tuple[float, float, Figures]]) -> str:
    """The shipped first pass: differences from scoring everything, with intervals and p-values."""
    p_values = {key: p_column([figures[key] for _, _, figures in points]) for key in SHOWN}
    rows = []
    for number, (share, scored, figures) in enumerate(points):
        cells = [f"{cell(figures[key])}; p {p_values[key][number]:.2g}" for key in SHOWN]
        rows.append([f"{share:g}", f"{scored:.3f}", *cells])
    return f"### {SHIPPED}\n\n" + table(rows)


def depth_table(curves: Sequence[tuple[int, Curve]]) -> str:
    """Return a table of the default share for several numbers of candidates, with and without the minimum."""
    rows = []
    for count, curve in curves:
        share, *single_values = curve.point(SHIPPED, DEFAULT_SHARE)
        ruled = curve.lost(lambda *parts: first_pass(*parts, DEFAULT_SHARE))
        for name, (scored, figures) in ((f"{share}, at least {FEWEST}", ruled), (f"{share}", single_values)):
            rows.append([str(count), name, f"{scored:.3f}", *(cell(figures[key]) for key in SHOWN)])
    heads = ["candidates", "share", "pairs scored", *SHOWN]
    return f"### {SHIPPED}, by candidates\n\n" + tabulate(rows, heads, tablefmt="pipe", disable_numparse=True)


def p_column(differences: Sequence[F64]) -> npt.NDArray[np.float64]:
    """Holm-corrected p-values of the mean differences."""
    return holm([randomisation_test(values, np.zeros_like(values)) for values in differences])


def cell(differences: F64) -> str:
    """A mean difference and its 95 % interval."""
    low, high = bootstrap_interval(differences)
    return f"{differences.mean():+.4f} ({low:+.4f} to {high:+.4f})"


def other_tables(points: dict[str, list[tuple[float, float, Figures]]]) -> list[str]:
    """The other first passes, means only."""
    return [
        f"### {name}\n\n"
        + table([[f"{s:g}", f"{scored:.3f}", *(f"{f[key].mean():+.4f}" for key in SHOWN)] for s, scored, f in curves])
        for name, curves in points.items()
        if name != SHIPPED
    ]


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of shares and differences."""
    return tabulate(rows, ["share", "pairs scored", *SHOWN], tablefmt="pipe", disable_numparse=True)


def results(curve: Curve, points: dict[str, list[tuple[float, float, Figures]]], best: float | None) -> dict[str, Any]:
    """All figures, for a file."""
    return {
        "data": curve.scored.data,
        "perspectives": dict(curve.scored.made_by.get("perspectives", {})),
        "all": {key: float(np.nanmean(values)) for key, values in curve.whole.items()},
        "chosen": best,
        "first_passes": {
            name: [
                {"share": share, "scored": scored, **{key: float(figures[key].mean()) for key in SHOWN}}
                for share, scored, figures in curves
            ]
            for name, curves in points.items()
        },
    }


def seconds_a_sentence() -> float:
    """Processor time of the first pass for a sentence of the sample: the median over five questions and all documents.

    The lexical column is included, although it is computed without a cascade as well.
    """
    documents = list(read_jsonl(SAMPLE / "documents.jsonl"))
    texts = [(number, s.text) for number, document in enumerate(documents) for s in split_sentences(document)]
    document_of = np.array([number for number, _ in texts], np.int64)
    questions, times = read_questions(SAMPLE / "questions.json"), []
    for question in questions[:5]:
        started = time.process_time()
        lexical = MemoryIndex([text for _, text in texts]).scores(question.body).astype(np.float64)
        first_pass(lexical, np.zeros(len(documents)), document_of, DEFAULT_SHARE)
        times.append(time.process_time() - started)
    return float(np.median(times)) / len(texts)


def draw(path: Path, points: dict[str, list[tuple[float, float, Figures]]]) -> None:
    """The loss of documents and of sentences over the share of pairs scored, a line for each first pass."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(9, 3.6))
        for axis, measure in zip(figure.subplots(1, 2), ("document-map", "sentence-map"), strict=True):
            for (name, points_of), colour in zip(points.items(), COLOURS, strict=False):
                shares = [1.0, *(scored for _, scored, _ in points_of)]
                losses = [0.0, *(figures[measure].mean() for _, _, figures in points_of)]
                axis.plot(shares, losses, color=colour, label=name, marker="o", markersize=3)
            axis.axhline(-BOUND, color="#999999", linestyle=":")
            axis.set(xlabel="share of pairs scored", ylabel=f"{measure}, difference", ylim=(-0.06, 0.02))
        figure.axes[0].legend(loc="lower right")
        try:
            figure.savefig(path, dpi=150)
        except OSError as error:
            raise OutputError(f"{path}: the picture cannot be written ({error.strerror}); check the folder.") from error


if __name__ == "__main__":
    sys.exit(main())
