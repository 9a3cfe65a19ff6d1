"""Compare two bundles on the same evaluations, question by question.

    python -m experiments.ranking.evaluation --data DATA --limit 60 --only a b c --json one.json
    python -m experiments.ranking.evaluation --data DATA --limit 60 --only a b c --bundle runs/other --json other.json
    python -m experiments.ranking.compare_bundles one.json other.json

For each system in both files, it shows both means, the second's gain with a bootstrap interval, and the p-value of a
paired randomisation test, corrected (Holm) over the evaluations of that system.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from experiments.common.significance import corrected
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path
from mpir.errors import InputError
from mpir.evaluate import bootstrap_interval
from mpir.files.read import read_json

SETTINGS = ("split", "limit", "depth", "head", "seed", "cascade", "start")
"""Settings that decide which questions, candidates and sentences are measured; `start` is the base encoder."""


def main() -> int:
    """Read arguments, compare, print."""
    parser = script_parser(__doc__)
    parser.add_argument("first", type=file_path, help="figures of evaluation.py --json")
    parser.add_argument("second", type=file_path, help="the same of another bundle")
    parser.add_argument("--systems", nargs="+", default=["relevance alone", "blend"], help="default: relevance, blend")
    arguments = parser.parse_args()
    return guarded("compare_bundles", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A table for each system."""
    first, second = (read_figures(path) for path in (arguments.first, arguments.second))
    for name in SETTINGS:
        if first[name] != second[name]:
            raise InputError(
                f"{arguments.second}: {name} is {second[name]}, and {first[name]} in {arguments.first}; "
                "measure both bundles with the same options."
            )
    for system in arguments.systems:
        print(f"\n{system}\n")
        heads = ["", "first", "second", "second − first", "95 % interval", "p (Holm)"]
        rows = differences(first["values"], second["values"], system)
        print(tabulate(rows, heads, tablefmt="github", disable_numparse=True))
    return 0


def read_figures(path: Path) -> dict[str, Any]:
    """The figures of an evaluation. Raises InputError where values of questions or a setting are missing."""
    figures = read_json(path)
    for name in ("values", *SETTINGS):
        if not isinstance(figures, dict) or name not in figures:
            raise InputError(f"{path}: has no {name}; write it anew with evaluation.py --json.")
    return figures


def differences(first: Mapping[str, Any], second: Mapping[str, Any], system: str) -> list[list[str]]:
    """Return a row for each evaluation of a system in both files. Raises InputError if there is none."""
    shared_parts = [set_name for set_name in first if system in first[set_name] and system in second.get(set_name, {})]
    if not shared_parts:
        raise InputError(f"--systems {system}: no evaluation has it in both files.")
    pairs = [(np.array(first[set_name][system]), np.array(second[set_name][system])) for set_name in shared_parts]
    tests = corrected(pairs)
    rows: list[list[str]] = []
    for set_name, (a, b), p in zip(shared_parts, pairs, tests, strict=True):
        low, high = bootstrap_interval(b - a)
        means = f"{a.mean():.4f}", f"{b.mean():.4f}", f"{(b - a).mean():+.4f}"
        rows.append([set_name, *means, f"{low:+.4f} to {high:+.4f}", f"{p:.4f}"])
    return rows


if __name__ == "__main__":
    sys.exit(main())
