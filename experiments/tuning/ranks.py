"""Should the weights w of a document's best sentences fall with their rank? Documents ranked with other w.

    mpir score --questions DATA/bioasq/5B?_golden.json --index abstracts-index --set score.gold_in_index=true --k 30 \\
        --output runs/tuning/dev
    python -m experiments.tuning.ranks --scored runs/tuning/dev --weights mpir/bundles/default/weights.json

All other weights stay as they are. `as tuned` are the weights of the file, `falling` the same in falling order, and
`pooled` gives the second and third sentence the same weight. All pairs of systems are tested.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path
from mpir.core.weights import Weights
from mpir.evaluate.comparison import Comparison
from mpir.evaluate.comparison_tables import describe, means_table
from mpir.files.weights import read_weights
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective

MEASURE = "document-map"


def main() -> int:
    """Read arguments, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--scored", type=file_path, required=True, help="scored questions with gold")
    parser.add_argument("--weights", type=file_path, required=True, help="weights whose w is varied")
    return guarded("ranks", lambda: run(**vars(parser.parse_args())))


def run(scored: Path, weights: Path) -> int:
    """One table, and the tests, over the questions with gold."""
    objective = Objective(Dataset.load(scored), MEASURE)
    values = {name: objective.per_question(of) for name, of in variants(read_weights(weights)).items()}
    counted = ~np.isnan(next(iter(values.values())))  # nan: the question has no relevant document
    queries = [question.id for question, counts in zip(objective.scored.questions, counted, strict=True) if counts]
    compared = Comparison(queries=queries, systems={name: {MEASURE: row[counted]} for name, row in values.items()})
    print(f"{len(compared.queries)} questions\n\n{means_table(compared)}\n\n{describe(compared)}")
    return 0


def variants(given: Weights) -> dict[str, Weights]:
    """The weights with other w, of the same sum."""
    first, *others = given.w
    mean = sum(others) / max(1, len(others))
    total = sum(given.w)
    choices = {
        "as tuned": given.w,
        "falling": tuple(sorted(given.w, reverse=True)),
        "pooled": (first, *(mean for _ in others)),
        "best alone": (total, *(0.0 for _ in others)),
        "equal": tuple(total / len(given.w) for _ in given.w),
    }
    named = {f"{name} ({', '.join(f'{value:.3f}' for value in w)})": w for name, w in choices.items()}
    return {name: replace(given, w=w) for name, w in named.items()}


if __name__ == "__main__":
    sys.exit(main())
