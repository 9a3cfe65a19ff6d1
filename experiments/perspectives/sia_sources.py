"""Which rows train the better SIA perspective, such as QASC's alone against all methods?

    mpir data sia --qasc DATA/qasc/dev.jsonl --methods combined,partial,similar --output runs/qasc
    mpir data sia --qasc DATA/qasc/dev.jsonl --bioasq DATA/bioasq/training.json --exclude … \\
        --corpus DATA/pubmed/abstracts.jsonl --vectors runs/vectors --output runs/all
    python -m experiments.perspectives.sia_sources --rows qasc=runs/qasc/train.jsonl all=runs/all/train.jsonl \\
        --checkpoint ENCODER --annotated DATA --output runs/sia-sources

Each source trains one perspective from the checkpoint, by the same number of rows and steps, for each seed. Printed is
Spearman's correlation with people's labels of SciTail, TREC-QA and HealthVer, as the mean of the seeds and their
range; --held measures on further files of rows, too.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from tabulate import tabulate

from experiments.common.annotated_pairs import read_annotated
from experiments.common.seeds import spread
from mpir.app.cli import guarded, script_parser
from mpir.app.cli import main as mpir
from mpir.app.cli.value_options import file_path, positive, text_path
from mpir.errors import InputError, MpirError
from mpir.files.output_checks import Form, Output, are_figures, check_outputs
from mpir.files.write import atomic_write, write_json
from mpir.lab.train.examples import Example, read_rows
from mpir.models.perspectives import open_bundle, score_pairs

DEV_SHARE = 0.1
"""Share of the questions that choose the checkpoint."""


def main() -> int:
    """Read arguments, train, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument(
        "--rows", type=text_path, nargs="+", required=True, metavar="NAME=FILE", help="rows with labels 0 to 4"
    )
    parser.add_argument("--checkpoint", type=text_path, required=True, help="encoder to start from")
    parser.add_argument("--annotated", type=file_path, help="folder with scitail/, trecqa_wang/, healthver/")
    parser.add_argument("--held", type=file_path, nargs="*", default=[], help="further rows to measure on")
    parser.add_argument("--split", choices=("dev", "test"), default="test", help="of the annotated sets (%(default)s)")
    parser.add_argument("--number", type=positive, default=560, help="rows of each source (%(default)s)")
    parser.add_argument("--limit", type=positive, help="rows of each set that are measured (default: all)")
    parser.add_argument("--seeds", type=positive, default=2, help="%(default)s")
    parser.add_argument("--output", type=file_path, required=True, help="folder of the runs")
    parser.add_argument("--train", nargs=argparse.REMAINDER, default=[], help="further options go to `mpir train`")
    return guarded("sia_sources", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """A row for each source."""
    sources = [text.partition("=")[0] for text in arguments.rows]
    runs = [arguments.output / f"{name}-{seed}" for name in sources for seed in range(1, arguments.seeds + 1)]
    forms: dict[str, Form] = {"dev.jsonl": are_rows, "train.jsonl": are_rows, "mixture.json": are_figures}
    check_outputs(Output("--output", folder / name, form) for folder in runs for name, form in forms.items())
    tests = {path.name: read_rows(path, 4.0) for path in arguments.held}
    tests |= read_annotated(arguments.annotated, arguments.split) if arguments.annotated else {}
    if not tests:
        raise InputError("there is nothing to measure on; give --annotated DIR, --held FILE …, or both.")
    tests = {name: rows[: arguments.limit] for name, rows in tests.items()}
    table = []
    for text in arguments.rows:
        name, equals, path = text.partition("=")
        if not equals:
            raise InputError(f"--rows: {text!r} is given; expected NAME=FILE.")
        rows = read_rows(Path(path), 4.0)
        measured = [figures(trained(name, rows, seed, arguments), tests) for seed in range(1, arguments.seeds + 1)]
        table.append([name, *(spread(values) for values in zip(*measured, strict=True))])
    print(tabulate(table, ["trained on", *tests], tablefmt="github", disable_numparse=True))
    return 0


are_rows = re.compile(rb'\{"id": [^\n]*"question": [^\n]*"label": ').match
"""Whether a file has rows of a source."""


def trained(name: str, rows: Sequence[Example], seed: int, arguments: argparse.Namespace) -> Path:
    """The bundle of one source and seed. Raises MpirError where the training fails."""
    folder = arguments.output / f"{name}-{seed}"
    dev, training = split(rows, arguments.number, seed)
    for part, chosen in (("dev", dev), ("train", training)):
        with atomic_write(folder / f"{part}.jsonl") as stream:
            stream.writelines(lines(chosen))
    perspective = {"name": "sia", "losses": ["mse4"], "dev": "dev.jsonl", "train": [{"file": "train.jsonl"}]}
    write_json(folder / "mixture.json", {"perspectives": [perspective]})
    files = ["--mixture", folder / "mixture.json", "--data", folder, "--output", folder / "run"]
    words = ["train", "--checkpoint", arguments.checkpoint, *files, "--bundle", folder / "bundle", "--seed", seed]
    if mpir([str(word) for word in (*words, "--quiet", *arguments.train)]):
        raise MpirError(f"{folder}: could not be trained; see the message above.")
    return Path(folder / "bundle")


def split(rows: Sequence[Example], number: int, seed: int) -> tuple[list[Example], list[Example]]:
    """Rows for dev, of a tenth of the questions, and `number` of the others. Raises InputError for too few."""
    groups = sorted({row.group for row in rows})
    held = set(random.Random(seed).sample(groups, max(1, round(DEV_SHARE * len(groups)))))
    dev, others = [row for row in rows if row.group in held], [row for row in rows if row.group not in held]
    if not others:
        raise InputError(f"there are rows of {len(groups)} questions; expected two or more.")
    return dev, random.Random(seed).sample(others, min(number, len(others)))


def lines(rows: Sequence[Example]) -> Iterator[str]:
    """The rows as JSON lines."""
    for row in rows:
        values = {"id": row.group, "question": row.question, "sentence": row.sentence, "label": row.label}
        yield json.dumps(values, ensure_ascii=False) + "\n"


def figures(bundle: Path, tests: dict[str, list[Example]]) -> list[float]:
    """Spearman's correlation on each set; 0 where the scores are constant."""
    perspectives = open_bundle(bundle).perspectives()
    values = []
    for rows in tests.values():
        scores = score_pairs(perspectives, [(row.question, row.sentence) for row in rows]).values[:, 0]
        labels = np.array([row.label for row in rows])
        values.append(float(spearmanr(scores, labels)[0]) if np.ptp(scores) and np.ptp(labels) else 0.0)
    return values


if __name__ == "__main__":
    sys.exit(main())
