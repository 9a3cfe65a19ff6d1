"""Measure probabilities on scored lists: calibration error, Brier score, AUC, a reliability diagram, and their spread.

    python -m experiments.calibration.report --lists runs/calibration --bundle ./bundle --plot reliability.png

The sets are those of `experiments.calibration.lists` that no fit used. Intervals are 95 % bootstraps over questions.
The spread is that of one document's probability when 0, 1, 2, 3, 5, 20 and 100 unrelated texts are ranked with it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tabulate import tabulate

from experiments.calibration.lists import REPORT
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path
from mpir.core.calibration import Calibration, logistic
from mpir.core.stopping import expectation
from mpir.evaluate.calibration import calibration_error
from mpir.files.output_checks import Output, check_outputs, is_picture
from mpir.models.bundles.bundle import open_bundle
from mpir.reranking.reranker import Reranker
from mpir.tune.dataset import Dataset
from mpir.tune.judgements import judge
from mpir.types import F64, I64

SAMPLES = 500
QUERY = "Which gene is mutated in cystic fibrosis?"
ANSWER = "Cystic fibrosis is caused by mutations of CFTR, a chloride channel of epithelial cells. Carriers are healthy."
ADDED = (0, 1, 2, 3, 5, 20, 100)
Measure = Callable[[F64, F64], float]


def main() -> int:
    """Read arguments, print tables."""
    parser = script_parser(__doc__)
    parser.add_argument("--lists", type=file_path, required=True, help="the folder that lists.py wrote")
    parser.add_argument(
        "--bundle", type=text_path, default="default", help="the bundle with the probabilities (default)"
    )
    parser.add_argument("--sets", nargs="+", choices=REPORT, default=REPORT)
    parser.add_argument("--plot", type=file_path, metavar="FILE", help="draw the reliability diagram there")
    arguments = parser.parse_args()
    return guarded("report", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Print the tables of documents, kinds of lists, sentences, expected numbers and spread."""
    check_outputs([Output("--plot", arguments.plot, is_picture)])
    bundle = open_bundle(arguments.bundle)
    calibration = Calibration.from_dict(bundle.relevance)
    sets = {name: Dataset.load(arguments.lists / name) for name in arguments.sets}
    rows, diagrams = [], {}
    for name, scored in sets.items():
        probability, labels = probabilities(scored, calibration)[0], judge(scored).relevant.astype(float)
        rows.append([name, *measured(probability, labels, scored.columns.query_of)])
        diagrams[name] = (probability, labels)
        if name == "test":
            rows += by_kind(scored, probability, labels)
    heads = ["documents of", "judged", "relevant", "ECE", "Brier", "of the base rate", "AUC"]
    print(table(rows, heads), table(reliability(diagrams), ["probability", *diagrams]), sep="\n\n", end="\n\n")
    if (test := sets.get("test")) is not None:
        print(sentences_of(test, calibration), expected_numbers(test, calibration), sep="\n\n", end="\n\n")
    print(table([spread(Reranker(arguments.bundle, device="cpu"))], ["added texts", *map(str, ADDED)]))
    if arguments.plot:
        draw(diagrams, arguments.plot)
    return 0


def probabilities(scored: Dataset, calibration: Calibration) -> tuple[F64, F64]:
    """The probabilities of a set's documents (D,) and sentences (N,)."""
    in_part, left_out = np.asarray(scored.documents_in_part), np.asarray(scored.documents_left_out)
    log_odds = calibration.log_odds(scored.columns, in_part, left_out)
    return logistic(log_odds.documents), logistic(log_odds.sentences)


def table(rows: list[list[str]], heads: list[str]) -> str:
    """A Markdown table."""
    return tabulate(rows, heads, tablefmt="pipe", disable_numparse=True)


def measured(probability: F64, labels: F64, query_of: I64) -> list[str]:
    """The number of rows, of relevant ones, and the measures, ECE and AUC with intervals."""
    base = np.full(len(labels), labels.mean())
    return [
        str(len(labels)),
        str(int(labels.sum())),
        with_interval(calibration_error, probability, labels, query_of),
        f"{brier(probability, labels):.3f}",
        f"{brier(base, labels):.3f}",
        with_interval(auc, probability, labels, query_of),
    ]


def with_interval(measure: Measure, probability: F64, labels: F64, query_of: I64) -> str:
    """A measure with its 95 % bootstrap interval over questions."""
    rows_of = np.split(np.arange(len(labels)), np.flatnonzero(np.diff(query_of)) + 1)
    generator, values = np.random.default_rng(0), []
    for _ in range(SAMPLES):
        rows = np.concatenate([rows_of[i] for i in generator.integers(0, len(rows_of), len(rows_of))])
        values.append(measure(probability[rows], labels[rows]))
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return f"{measure(probability, labels):.3f} ({low:.3f}–{high:.3f})"


def brier(probability: F64, labels: F64) -> float:
    """The mean squared error of probabilities (Brier, 1950)."""
    return float(((probability - labels) ** 2).mean())


def auc(probability: F64, labels: F64) -> float:
    """The chance that a relevant row is more probable than another; NaN with one class only."""
    from scipy.stats import rankdata

    positive = labels > 0
    hits, misses = int(positive.sum()), int((~positive).sum())
    if not hits or not misses:
        return float("nan")
    return float((rankdata(probability)[positive].sum() - hits * (hits + 1) / 2) / (hits * misses))


def by_kind(scored: Dataset, probability: F64, labels: F64) -> list[list[str]]:
    """The measures by kind of list, which is the end of its question's id."""
    kinds = np.array([question.id.rsplit("/", 1)[1].split("-")[0] for question in scored.questions])
    of_rows, rows = kinds[scored.columns.query_of], []
    for kind in sorted(set(kinds), key=int):
        mask = of_rows == kind
        figures = measured(probability[mask], labels[mask], scored.columns.query_of[mask])
        rows.append([f"test, lists of {kind}", *figures])
    return rows


def reliability(diagrams: dict[str, tuple[F64, F64]]) -> list[list[str]]:
    """For each tenth of the scale and each set: the share of relevant documents, and their number."""
    rows = []
    for number in range(10):
        cells = []
        for probability, labels in diagrams.values():
            mask = np.minimum((probability * 10).astype(int), 9) == number
            cells.append(f"{labels[mask].mean():.2f} ({mask.sum()})" if mask.any() else "–")
        rows.append([f"{number / 10:.1f}–{(number + 1) / 10:.1f}", *cells])
    return rows


def sentences_of(scored: Dataset, calibration: Calibration) -> str:
    """A table of the measures of sentences: they share a character with a gold snippet."""
    judged = judge(scored)
    rows = np.flatnonzero(judged.in_gold | ~judged.relevant[scored.columns.document_of])
    probability, labels = probabilities(scored, calibration)[1][rows], judged.overlaps[rows].astype(float)
    figures = measured(probability, labels, scored.columns.query_of[scored.columns.document_of[rows]])
    heads = ["sentences of", "judged", "answers", "ECE", "Brier", "of the base rate", "AUC"]
    return table([["test", *figures]], heads)


def expected_numbers(scored: Dataset, calibration: Calibration) -> str:
    """How many lists of at least five have a number of relevant documents within the interval of the expected one."""
    probability, labels = probabilities(scored, calibration)[0], judge(scored).relevant
    inside, errors, lists = 0, [], 0
    for question in range(len(scored.questions)):
        rows = np.flatnonzero(scored.columns.query_of == question)
        rows = rows[np.argsort(-probability[rows], kind="stable")]
        expected = expectation(probability[rows].tolist()) if len(rows) >= 5 else None
        if expected:
            hits = int(labels[rows[: expected.rank]].sum())
            lists, inside = lists + 1, inside + (expected.low <= hits <= expected.high)
            errors.append(expected.number - hits)
    mean, deviation = np.mean(errors), np.std(errors)
    return f"expected numbers: {lists} lists, {inside / lists:.2f} inside, error {mean:+.2f} ± {deviation:.2f}"


def spread(reranker: Reranker) -> list[str]:
    """The probability of the answer with more and more unrelated texts beside it."""
    others = [f"Sample {number} of a survey about soil, weather and crops in a valley." for number in range(max(ADDED))]
    values = [reranker.rerank(QUERY, [ANSWER, *others[:count]])["0"].probability or 0.0 for count in ADDED]
    return [f"spread {max(values) - min(values):.4f}", *(f"{value:.3f}" for value in values)]


def draw(diagrams: dict[str, tuple[F64, F64]], path: Path) -> None:
    """Draw the share of relevant documents against their mean probability, a line for each set."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 5))
    axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
    for name, (probability, labels) in diagrams.items():
        bin_of = np.minimum((probability * 10).astype(int), 9)
        used = [number for number in range(10) if (bin_of == number).sum() >= 10]
        means = [probability[bin_of == number].mean() for number in used]
        axes.plot(means, [labels[bin_of == number].mean() for number in used], marker="o", label=name)
    axes.set(xlabel="probability", ylabel="share judged relevant", xlim=(0, 1), ylim=(0, 1))
    axes.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    sys.exit(main())
