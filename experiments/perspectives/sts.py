"""The agreement of a bundle's STS perspective with people: Pearson's correlation on STS-B test and BIOSSES.

    python -m experiments.perspectives.sts --data DATA
    python -m experiments.perspectives.sts --pairs clinicalSTS2019.test.txt --bundle runs/mine/bundle

FILE has a sentence, another and a score on each line, with tabs between them, as MedSTS (n2c2's ClinicalSTS) has.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.stats import bootstrap, pearsonr
from tabulate import tabulate

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path
from mpir.errors import InputError
from mpir.files.read import read_lines
from mpir.models.perspectives import open_bundle, score_pairs

Pairs = list[tuple[str, str]]


def main() -> int:
    """Score both sets and print the table."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, help="the folder with sts/stsb and sts/biosses")
    parser.add_argument("--pairs", type=file_path, nargs="*", default=[], metavar="FILE", help="files such as MedSTS'")
    parser.add_argument(
        "--bundle", type=text_path, default="default", metavar="DIR|NAME", help="default: the one that ships"
    )
    arguments = parser.parse_args()
    return guarded("sts", lambda: run(arguments.data, arguments.pairs, arguments.bundle))


def run(data: Path | None, files: Sequence[Path], bundle: str) -> int:
    """The measurement. Raises InputError where there is nothing to measure on."""
    sets = {"STS-B test": read_stsb(data / "sts"), "BIOSSES": read_biosses(data / "sts")} if data else {}
    sets |= {path.name: read_pairs(path) for path in files}
    if not sets:
        raise InputError("there is nothing to measure on; give --data DIR, --pairs FILE …, or both.")
    chosen = [perspective for perspective in open_bundle(bundle).perspectives() if perspective.name == "sts"]
    if not chosen:
        raise InputError(f"bundle {bundle!r} has no perspective named 'sts'; choose one that has.")
    rows = []
    for name, (pairs, people) in sets.items():
        scores = score_pairs(chosen, pairs, progress=sys.stderr.isatty()).values[:, 0]
        rows.append([name, len(pairs), *correlation(scores, people)])
    print(tabulate(rows, ["", "pairs", "Pearson", "95 % interval"], floatfmt=".4f"))
    return 0


def read_stsb(folder: Path) -> tuple[Pairs, npt.NDArray[np.float64]]:
    """STS-B's test pairs and their scores, 0 to 5."""
    with open(folder / "stsb/sts-test.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(row[5], row[6]) for row in rows], np.array([float(row[4]) for row in rows])


def read_biosses(folder: Path) -> tuple[Pairs, npt.NDArray[np.float64]]:
    """BIOSSES' pairs and the mean of its five annotators, 0 to 4."""
    with open(folder / "biosses/biosses.tsv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    people = np.array([float(row["score_mean"]) for row in rows])
    return [(row["sentence1"], row["sentence2"]) for row in rows], people


def read_pairs(path: Path) -> tuple[Pairs, npt.NDArray[np.float64]]:
    """The pairs and scores of a file in MedSTS's form. Raises InputError for a line in another one."""
    pairs, scores = [], []
    for number, line in read_lines(path):
        fields = line.split("\t")
        try:
            first, second, score = fields[0], fields[1], float(fields[2])
        except (IndexError, ValueError) as error:
            raise InputError(f"{path}:{number}: found {line[:60]!r}; expected sentence⇥sentence⇥score.") from error
        pairs.append((first, second))
        scores.append(score)
    return pairs, np.array(scores)


def correlation(scores: npt.NDArray[np.float64], people: npt.NDArray[np.float64]) -> tuple[float, str]:
    """Pearson's r and its bootstrap interval, pairs resampled."""
    value = float(pearsonr(scores, people)[0])
    interval = bootstrap(
        (scores, people),
        lambda a, b, axis=-1: pearsonr(a, b, axis=axis)[0],
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=2000,
        rng=np.random.default_rng(0),
    ).confidence_interval
    return value, f"{interval.low:.4f} to {interval.high:.4f}"


if __name__ == "__main__":
    sys.exit(main())
