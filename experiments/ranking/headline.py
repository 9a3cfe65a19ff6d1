"""README's table of quality: bundles and free encoders on test questions, with intervals, tests and where mpir loses.

    python -m experiments.ranking.headline --data DATA --output runs/headline
    python -m experiments.ranking.headline --data DATA --output runs/headline --start all-mpnet-base-v2=FOLDER

Every evaluation (PARTS, of experiments/ranking/evaluation.py, every document read to the end) with every bundle and
encoder is a file in OUTPUT, also with its cost. A run takes up what is there, so it may be stopped and begun again, or
given another encoder; other models or options than its files were made with are refused. The rows are BM25 (once), each
encoder, both together, the blend of each bundle over their candidates, and with --columns each of the default bundle's
columns alone. Every row is tested against the first bundle's blend by the paired randomisation test; p is Holm-adjusted
over all rows and sets.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from experiments.common.baselines import BM25, COSINE, SUMMED, Start
from experiments.common.provenance import check_made_by
from experiments.common.significance import corrected
from experiments.ranking.evaluation import EVALUATIONS, SETS, Job, record
from experiments.ranking.sentences import BATCHES
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.core.checksum import fingerprint
from mpir.errors import InputError, format_value
from mpir.evaluate import bootstrap_interval
from mpir.evaluate.comparison_tables import format_interval
from mpir.files.read import read_json
from mpir.files.system import peak_memory, reset_peak_memory
from mpir.files.write import write_json
from mpir.models.perspectives import ScoreCache
from mpir.reranking.options import RunOptions
from mpir.reranking.reranker import Reranker
from mpir.types import F64

BLEND = "blend"
SYSTEMS = (BM25, COSINE, SUMMED, BLEND)
MINILM = "all-MiniLM-L6-v2"
PARTS = ("c", "h", "i", *(f"d-{name}" for name in SETS))
"""An evaluation, or one set of evaluation d."""
DEPTH = 20
"""Candidates of a question or query that are reranked."""
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


@dataclass(frozen=True)
class Cost:
    """The candidates of a part that a model read anew, and its seconds and peak memory in bytes, baselines included."""

    candidates: int
    seconds: float
    memory: int | None

    def __str__(self) -> str:
        """What a run prints."""
        rate = f"{self.candidates:,} candidates read anew, {self.candidates / self.seconds:.1f} a second"
        return rate if self.memory is None else f"{rate}, at most {self.memory / 2**20:,.0f} MiB"


def main() -> int:
    """Read arguments, measure what is missing, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/, pubmed/, scifact/, …")
    parser.add_argument("--output", type=file_path, required=True, metavar="DIR", help="folder of results and vectors")
    parser.add_argument("--start", type=text_path, metavar="NAME=FOLDER", help=f"a free encoder (default: {MINILM})")
    parser.add_argument(
        "--bundles", nargs="+", type=text_path, default=["default", "fast"], help="default: %(default)s"
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help="default: all")
    parser.add_argument("--split", choices=sorted(BATCHES), default="test", help="BioASQ's questions (default: test)")
    parser.add_argument("--limit", type=positive, metavar="N", help="only N questions of each part")
    parser.add_argument("--columns", action="store_true", help="also each column of the first bundle alone")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write means, intervals and tests there")
    return guarded("headline", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """The table, and the sets where another row is above the blend."""
    check_figures(arguments)
    encoder, _, checkpoint = (arguments.start or "").partition("=")
    if arguments.start and not (encoder and checkpoint):
        raise InputError(f"--start: {format_value(arguments.start)} is given; expected NAME=FOLDER.")
    start = Start(checkpoint or None, arguments.output / "vectors")
    for bundle in arguments.bundles:
        measure(arguments, bundle, encoder or MINILM, start)
    values = merged(read_results(arguments.output, arguments.bundles), columns=arguments.columns)
    tested = differences(values, label(BLEND, Path(arguments.bundles[0]).name, MINILM))
    rows = list(dict.fromkeys(row for of_set in values.values() for row in of_set))
    table = [[row, *(cell(of_set.get(row)) for of_set in values.values())] for row in rows]
    heads = [f"{name}, {len(next(iter(of_set.values())))}" for name, of_set in values.items()]
    print(tabulate(table, ["", *heads], tablefmt="github", disable_numparse=True))
    print(f"\n{losses(tested)}")
    if arguments.json:
        write_json(arguments.json, figures(values, tested))
    return 0


def measure(arguments: argparse.Namespace, bundle: str, encoder: str, start: Start) -> None:
    """Measure the parts of a bundle and an encoder that have no file yet."""
    paths = {part: result_path(arguments.output, bundle, encoder, part) for part in arguments.parts}
    missing = {part: path for part, path in paths.items() if not path.exists()}
    cache = ScoreCache(arguments.output / "scores")
    reranker = Reranker(bundle, device="cpu", precision="fp32", cache=cache, run=RunOptions(cascade="all"))
    job = Job(reranker, start, arguments.data, arguments.split, arguments.limit, depth=DEPTH, head=DEPTH, seed=1)
    settings: dict[str, Any] = {name: getattr(arguments, name) for name in ("split", "limit")}
    settings["models"] = [model.fingerprint for model in reranker.perspectives]
    settings["weights"] = reranker.weights.fingerprint
    settings["encoder"] = fingerprint(start.encoder.identity["checkpoint"])
    folder = arguments.output / f"{Path(bundle).name}-{encoder}"
    results = [path.name for part in PARTS if (path := result_path(arguments.output, bundle, encoder, part)).exists()]
    check_made_by(folder, settings, finished=(results or ["none"])[0])
    for number, (part, path) in enumerate(missing.items(), 1):
        print(f"{bundle}, {encoder}: {part} ({number} of {len(missing)})", file=sys.stderr, flush=True)
        name, _, of_set = part.partition("-")
        before, began = cache.misses, time.perf_counter()
        reset_peak_memory()
        measured = dict(EVALUATIONS[name](job, argparse.Namespace(sets=[of_set])))
        cost = Cost(cache.misses - before, time.perf_counter() - began, peak_memory())
        print(f"{bundle}, {encoder}: {part}: {cost}", file=sys.stderr, flush=True)
        write_json(path, record(job, measured) | {"cost": asdict(cost)})


def result_path(folder: Path, bundle: str, encoder: str, part: str) -> Path:
    """Where the figures of a part stand."""
    return folder / f"{Path(bundle).name}-{encoder}" / f"{part}.json"


def read_results(folder: Path, bundles: Sequence[str]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield (bundle, encoder, set → system → values) of every result, those of the first bundle first."""
    for bundle in bundles:
        name = Path(bundle).name
        for of_encoder in sorted(folder.glob(f"{name}-*"), key=lambda path: (MINILM not in path.name, path.name)):
            for part in PARTS:
                path = result_path(folder, bundle, encoder := of_encoder.name.removeprefix(f"{name}-"), part)
                if path.exists():
                    yield name, encoder, read_json(path)["values"]


def figures(values: Values, tested: Sequence[Difference]) -> dict[str, object]:
    """What README and the tests of README read."""
    return {
        "questions": {name: len(next(iter(rows.values()))) for name, rows in values.items()},
        "means": {name: {row: float(x.mean()) for row, x in rows.items()} for name, rows in values.items()},
        "intervals": {name: {row: bootstrap_interval(x) for row, x in rows.items()} for name, rows in values.items()},
        "differences": [asdict(difference) for difference in tested],
    }


def label(system: str, bundle: str, encoder: str) -> str:
    """The name of a row."""
    blend = "mpir" if bundle == "default" else f"mpir, {bundle}"
    blend = blend if encoder == MINILM else f"{blend}, {encoder}"
    names = {BM25: BM25, COSINE: encoder, SUMMED: f"BM25 + {encoder}", BLEND: blend}
    return names.get(system, f"{system.removesuffix(' alone')} alone")


def merged(results: Iterator[tuple[str, str, Mapping[str, Any]]], *, columns: bool = False) -> Values:
    """The rows of all files by set; of rows of one name the first one's."""
    values: dict[str, dict[str, F64]] = {}
    for bundle, encoder, sets in results:
        for set_name, of_systems in sets.items():
            of_set = values.setdefault(set_name, {})
            for system in of_systems if columns else SYSTEMS:
                if system in SYSTEMS or system.endswith(" alone"):
                    of_set.setdefault(label(system, bundle, encoder), np.array(of_systems[system], np.float64))
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
    p_values = corrected((row, blend) for *_, row, blend in pairs)
    return [
        Difference(name, row, reference, float((x - blend).mean()), p)
        for (name, row, x, blend), p in zip(pairs, p_values, strict=True)
    ]


def losses(tested: Sequence[Difference]) -> str:
    """One sentence on where other rows are above mpir, significantly or not."""
    reference = tested[0].reference
    above = [f"{item.row} on {item.set} (+{item.above:.3f}, p {item.p:.4f})" for item in tested if item.above > 0]
    return f"Above {reference}: {'; '.join(above)}." if above else f"No row is above {reference}."


if __name__ == "__main__":
    sys.exit(main())
