"""SIA against grades of sources that it was not trained on: Spearman's rank correlation, for every perspective.

    python data_scripts/training_data.py --data ../shared/data --output runs/data
    python experiments/sia.py --rows runs/data/sia.coverage.jsonl runs/data/sia.qasc.jsonl

Coverage rows are graded by the exact answers that a sentence holds, QASC's by the facts that its sentence combines
(docs/sia.md). Intervals and the differences of SIA from each other perspective come from a bootstrap over questions, so
that rows of one question stay together.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from tabulate import tabulate

from mpir.cli import guarded
from mpir.errors import InputError
from mpir.files import write_json
from mpir.perspectives import Perspective, open_bundle, score_pairs
from mpir.train.mixture import Row, read_rows

RESAMPLES = 2000
Array = npt.NDArray[np.float64]


def main() -> int:
    """Read arguments, score, correlate, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--rows", type=Path, nargs="+", required=True, metavar="FILE", help="JSON lines: id, question, sentence, label"
    )
    parser.add_argument("--bundle", default="default", metavar="DIR|NAME", help="trained perspectives (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    return guarded("sia", lambda: run(arguments.rows, arguments.bundle, arguments.json))


def run(paths: list[Path], bundle: str, json: Path | None) -> int:
    """The measurement."""
    perspectives = open_bundle(bundle).perspectives()
    if "sia" not in [perspective.name for perspective in perspectives]:
        raise InputError(f"bundle {bundle!r} has no perspective named 'sia'; choose one that has.")
    files = {path: read_rows(path, 4.0) for path in paths}
    found = {str(path): measured(str(path), rows, perspectives) for path, rows in files.items()}
    if json:
        write_json(json, found)
    return 0


def measured(source: str, rows: list[Row], perspectives: Sequence[Perspective]) -> dict[str, float]:
    """Print the table of one file; the correlation of each perspective."""
    names = [perspective.name for perspective in perspectives]
    scores = score_pairs(perspectives, [(r.question, r.sentence) for r in rows], progress=sys.stderr.isatty()).values
    labels = np.array([row.label for row in rows])
    samples = resample([row.group for row in rows], np.random.default_rng(0))
    found = {name: correlations(scores[:, column], labels, samples) for column, name in enumerate(names)}
    print(f"\n{source}: {len(rows)} rows of {len({row.group for row in rows})} questions\n")
    print(
        tabulate([line(name, found) for name in names], ["", "Spearman", "95 % interval", "SIA's lead"], floatfmt=".4f")
    )
    return {name: float(values[0]) for name, values in found.items()}


def resample(groups: list[str], generator: np.random.Generator) -> list[npt.NDArray[np.int64]]:
    """Row numbers: all of them first, then those of as many questions, drawn with replacement, RESAMPLES times."""
    names = {name: number for number, name in enumerate(dict.fromkeys(groups))}
    numbers = np.array([names[group] for group in groups])
    members = [np.flatnonzero(numbers == number) for number in range(len(names))]
    drawn = generator.integers(0, len(members), (RESAMPLES, len(members)))
    return [np.arange(len(groups)), *(np.concatenate([members[i] for i in row]) for row in drawn)]


def correlations(scores: Array, labels: Array, samples: list[npt.NDArray[np.int64]]) -> Array:
    """Spearman's correlation (1 + RESAMPLES,) on each sample."""
    return np.array([np.corrcoef(rankdata(scores[rows]), rankdata(labels[rows]))[0, 1] for rows in samples])


def line(name: str, found: dict[str, Array]) -> list[object]:
    """A row of the table: the correlation, its interval, and by how much SIA's is higher, with the interval of that."""
    low, high = np.quantile(found[name][1:], [0.025, 0.975])
    lead = found["sia"] - found[name]
    least, most = np.quantile(lead[1:], [0.025, 0.975])
    text = "" if name == "sia" else f"{lead[0]:+.4f} ({least:+.4f} to {most:+.4f})"
    return [name, float(found[name][0]), f"{low:.4f} to {high:.4f}", text]


if __name__ == "__main__":
    sys.exit(main())
