"""README's table of quality, from evaluations that served no choice, with intervals, tests and where mpir loses.

    python -m experiments.ranking.evaluation --data DATA --split untouched --only c d --start MINILM --json mini.json
    python -m experiments.ranking.evaluation --data DATA --split untouched --only c d --start MPNET --json mpnet.json
    python -m experiments.ranking.evaluation --data DATA --split untouched --only c d --start MINILM --bundle fast \\
        --json fast.json
    python -m experiments.ranking.headline MiniLM=mini.json MiniLM/fast=fast.json mpnet=mpnet.json

Each file is an evaluation's with one free encoder: its rows are BM25 (once), the encoder, both together, and the
blend over their candidates, of the bundle that is named after the encoder (else "mpir"). --systems names other rows,
such as a single column ("documents alone"). Every row is tested against the blend of the first file by the paired
randomisation test; p is Holm-adjusted over all rows and columns.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from tabulate import tabulate

from experiments.common.baselines import BM25, COSINE, SUMMED
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, text_path
from mpir.errors import InputError
from mpir.evaluate import bootstrap_interval, holm, randomisation_test
from mpir.evaluate.comparison_tables import format_interval
from mpir.files.read import read_json
from mpir.files.write import write_json
from mpir.types import F64

BLEND = "blend"
SYSTEMS = (BM25, COSINE, SUMMED, BLEND)
Values = Mapping[str, Mapping[str, F64]]
"""Set → row → value of each question (Q,)."""


@dataclass(frozen=True)
class Difference:
    """A row's mean in a set less that of the reference, and p by the randomisation test, Holm-adjusted over all."""

    set: str
    row: str
    reference: str
    above: float
    p: float


def main() -> int:
    """Read arguments, print."""
    parser = script_parser(__doc__)
    parser.add_argument(
        "results", type=text_path, nargs="+", metavar="NAME[/BUNDLE]=FILE", help="what evaluation.py wrote with --json"
    )
    parser.add_argument("--systems", nargs="+", default=SYSTEMS, help="rows of each file (default: %(default)s)")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write means, intervals and tests there")
    return guarded("headline", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """The table, and the sets where another row is above the blend."""
    check_figures(arguments)
    values = merged([read_result(text) for text in arguments.results], arguments.systems)
    tested = differences(values, label(BLEND, arguments.results[0].partition("=")[0]))
    rows = list(dict.fromkeys(row for of_set in values.values() for row in of_set))
    table = [[row, *(cell(of_set.get(row)) for of_set in values.values())] for row in rows]
    heads = [f"{name}, {len(next(iter(of_set.values())))}" for name, of_set in values.items()]
    print(tabulate(table, ["", *heads], tablefmt="github", disable_numparse=True))
    print(f"\n{losses(tested)}")
    if arguments.json:
        write_json(arguments.json, record(values, tested))
    return 0


def record(values: Values, tested: Sequence[Difference]) -> dict[str, object]:
    """What README and the tests of README read."""
    return {
        "questions": {name: len(next(iter(rows.values()))) for name, rows in values.items()},
        "means": {name: {row: float(x.mean()) for row, x in rows.items()} for name, rows in values.items()},
        "intervals": {name: {row: bootstrap_interval(x) for row, x in rows.items()} for name, rows in values.items()},
        "differences": [asdict(difference) for difference in tested],
    }


def read_result(text: str) -> tuple[str, Mapping[str, Mapping[str, list[float]]]]:
    """The name and the values of NAME=FILE. Raises InputError for another form or file."""
    name, equals, path = text.partition("=")
    if not equals:
        raise InputError(f"{text!r} is given; expected NAME=FILE.")
    result = read_json(Path(path))
    if not isinstance(result, dict) or "values" not in result:
        raise InputError(f"{path}: has no values; give what experiments.ranking.evaluation wrote with --json.")
    return name, result["values"]


def label(system: str, name: str) -> str:
    """The name of a row, given ENCODER or ENCODER/BUNDLE."""
    encoder, _, bundle = name.partition("/")
    blend = f"{bundle or 'mpir'}, {encoder}"
    return {BM25: BM25, COSINE: encoder, SUMMED: f"BM25 + {encoder}", BLEND: blend}.get(system, f"{system}, {name}")


def merged(results: Sequence[tuple[str, Mapping[str, Mapping[str, list[float]]]]], systems: Sequence[str]) -> Values:
    """The rows of all files by set; of rows of one name the first one's."""
    values: dict[str, dict[str, F64]] = {}
    for name, sets in results:
        for set_name, of_systems in sets.items():
            for system in systems:
                if system in of_systems:
                    row = np.array(of_systems[system], np.float64)
                    values.setdefault(set_name, {}).setdefault(label(system, name), row)
    for set_name, of_set in values.items():
        if len({row.size for row in of_set.values()}) > 1:
            raise InputError(f"{set_name}: the files have different numbers of questions; use the same --limit.")
    return values


def cell(row: F64 | None) -> str:
    """A mean with its interval."""
    return "" if row is None else f"{row.mean():.3f} ({format_interval(bootstrap_interval(row), '.3f')})"


def differences(values: Values, reference: str) -> list[Difference]:
    """Every row of a set that has the reference, against it. Raises InputError where none has."""
    pairs = [
        (set_name, row, of_set[row], of_set[reference])
        for set_name, of_set in values.items()
        if reference in of_set
        for row in of_set
        if row != reference
    ]
    if not pairs:
        raise InputError(f"no set has the row {reference!r}; give results of a bundle.")
    p_values = holm([randomisation_test(row, blend) for *_, row, blend in pairs])
    return [
        Difference(name, row, reference, float((x - blend).mean()), float(p))
        for (name, row, x, blend), p in zip(pairs, p_values, strict=True)
    ]


def losses(tested: Sequence[Difference]) -> str:
    """One sentence on where other rows are above mpir, significantly or not."""
    reference = tested[0].reference
    above = [f"{item.row} on {item.set} (+{item.above:.3f}, p {item.p:.4f})" for item in tested if item.above > 0]
    return f"Above {reference}: {'; '.join(above)}." if above else f"No row is above {reference}."


if __name__ == "__main__":
    sys.exit(main())
