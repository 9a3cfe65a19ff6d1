"""SIA on graded sources outside its training data: Spearman's rank correlation, for every perspective.

    python data_scripts/training_data.py --data DATA --output runs/data
    python -m experiments.perspectives.sia --rows runs/data/sia.coverage.jsonl runs/data/sia.qasc.jsonl
    python -m experiments.perspectives.sia --annotated DATA

Coverage rows are graded by rule from the exact answers in a sentence, QASC's from the facts that its sentence combines
(docs/guides/sia.md). People judged whether the sentences of SciTail, TREC-QA and HealthVer have the information.
Intervals, and SIA's differences from each other perspective, come from a bootstrap over questions, so that rows of one
question stay together; the last table shows the unweighted mean over the sources.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from tabulate import tabulate

from experiments.common.annotated_pairs import read_annotated
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.errors import InputError
from mpir.files.write import write_json
from mpir.lab.train.examples import Example, read_rows
from mpir.models.perspectives import Perspective, open_bundle, score_pairs
from mpir.types import F64

RESAMPLES = 2000
HEADERS = ["", "Spearman", "95 % interval", "SIA's lead"]


def main() -> int:
    """Read arguments, score, correlate, print."""
    parser = script_parser(__doc__)
    parser.add_argument(
        "--rows",
        type=file_path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="JSON lines: id, question, sentence, label",
    )
    parser.add_argument(
        "--annotated", type=file_path, metavar="DIR", help="folder with scitail/, trecqa_wang/, healthver/"
    )
    parser.add_argument("--split", choices=["dev", "test"], default="test", help="of the annotated sets (%(default)s)")
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N rows of each source")
    parser.add_argument(
        "--bundle", type=text_path, default="default", metavar="DIR|NAME", help="trained perspectives (%(default)s)"
    )
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    return guarded("sia", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The measurement."""
    check_figures(arguments)
    sources = read_sources(arguments)
    perspectives = open_bundle(arguments.bundle).perspectives()
    if "sia" not in [perspective.name for perspective in perspectives]:
        raise InputError(f"bundle {arguments.bundle!r} has no perspective named 'sia'; choose one that has.")
    correlations_of = {name: measured(rows, perspectives) for name, rows in sources.items()}
    for name, rows in sources.items():
        show(f"{name}: {len(rows)} rows of {len({row.group for row in rows})} questions", correlations_of[name])
    if len(sources) > 1:
        names = next(iter(correlations_of.values()))
        correlations_of["mean"] = {
            name: np.mean([source_figures[name] for source_figures in correlations_of.values()], axis=0)
            for name in names
        }
        show("mean of the sources", correlations_of["mean"])
    if arguments.json:
        figures = {
            source: {name: float(v[0]) for name, v in source_figures.items()}
            for source, source_figures in correlations_of.items()
        }
        write_json(arguments.json, figures)
    return 0


def read_sources(arguments: argparse.Namespace) -> dict[str, list[Example]]:
    """The rows of each file and each annotated set, by name. Raises InputError where neither is asked for."""
    rows_of = {str(path): read_rows(path, 4.0) for path in arguments.rows}
    if arguments.annotated:
        rows_of |= read_annotated(arguments.annotated, arguments.split)
    if not rows_of:
        raise InputError("there is nothing to measure on; give --rows FILE …, --annotated DIR, or both.")
    return {name: rows[: arguments.limit] for name, rows in rows_of.items()}


def measured(rows: list[Example], perspectives: Sequence[Perspective]) -> dict[str, F64]:
    """The correlations (1 + RESAMPLES,) of each perspective with the rows' labels."""
    scores = score_pairs(perspectives, [(r.question, r.sentence) for r in rows], progress=sys.stderr.isatty()).values
    labels = np.array([row.label for row in rows])
    samples = resample([row.group for row in rows], np.random.default_rng(0))
    return {
        perspective.name: correlations(scores[:, column], labels, samples)
        for column, perspective in enumerate(perspectives)
    }


def show(title: str, figures: dict[str, F64]) -> None:
    """Print a table with a line for each perspective."""
    lines = [line(name, figures) for name in figures]
    print(f"{title}\n\n{tabulate(lines, HEADERS, floatfmt='.4f')}\n")


def resample(groups: list[str], generator: np.random.Generator) -> list[npt.NDArray[np.int64]]:
    """Example numbers: all of them first, then those of as many questions, drawn with replacement, RESAMPLES times."""
    names = {name: number for number, name in enumerate(dict.fromkeys(groups))}
    numbers = np.array([names[group] for group in groups])
    members = [np.flatnonzero(numbers == number) for number in range(len(names))]
    drawn = generator.integers(0, len(members), (RESAMPLES, len(members)))
    return [np.arange(len(groups)), *(np.concatenate([members[i] for i in row]) for row in drawn)]


def correlations(scores: F64, labels: F64, samples: list[npt.NDArray[np.int64]]) -> F64:
    """Spearman's correlation (1 + RESAMPLES,) on each sample."""
    return np.array([np.corrcoef(rankdata(scores[rows]), rankdata(labels[rows]))[0, 1] for rows in samples])


def line(name: str, figures: dict[str, F64]) -> list[object]:
    """A row of the table: the correlation, its interval, and by how much SIA's is higher, with the interval of that."""
    low, high = np.quantile(figures[name][1:], [0.025, 0.975])
    lead = figures["sia"] - figures[name]
    lead_low, lead_high = np.quantile(lead[1:], [0.025, 0.975])
    text = "" if name == "sia" else f"{lead[0]:+.4f} ({lead_low:+.4f} to {lead_high:+.4f})"
    return [name, float(figures[name][0]), f"{low:.4f} to {high:.4f}", text]


if __name__ == "__main__":
    sys.exit(main())
