"""The agreement of a bundle's STS perspective with people: Pearson's correlation on STS-B test and BIOSSES.

python -m experiments.perspectives.sts --data DATA
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.stats import bootstrap, pearsonr
from tabulate import tabulate

from mpir.app.cli import guarded
from mpir.app.cli.path_options import file_path, text_path
from mpir.errors import InputError
from mpir.models.perspectives import open_bundle, score_pairs

Pairs = list[tuple[str, str]]


def main() -> int:
    """Score both sets and print the table."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=file_path, required=True, help="the folder with sts/stsb and sts/biosses")
    parser.add_argument(
        "--bundle", type=text_path, default="default", metavar="DIR|NAME", help="default: the one that ships"
    )
    arguments = parser.parse_args()
    return guarded("sts", lambda: run(arguments.data / "sts", arguments.bundle))


def run(folder: Path, bundle: str) -> int:
    """The measurement."""
    chosen = [perspective for perspective in open_bundle(bundle).perspectives() if perspective.name == "sts"]
    if not chosen:
        raise InputError(f"bundle {bundle!r} has no perspective named 'sts'; choose one that has.")
    rows = []
    for name, (pairs, people) in {"STS-B test": read_stsb(folder), "BIOSSES": read_biosses(folder)}.items():
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
