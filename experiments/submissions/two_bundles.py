"""Are two bundles better than one? Their columns in one blend, or their rankings fused.

    mpir score … --output runs/submissions/dev
    mpir score … --bundle fast --output runs/submissions/dev-fast
    python -m experiments.submissions.two_bundles --scored runs/submissions/dev runs/submissions/dev-fast \\
        --bundles default fast

Both bundles score the same candidates. "mean of blends" adds the z-scores of both blends, question by question; "RRF"
adds 1 / (60 + rank); "columns" gives both bundles' columns half of their weights in one blend. Nothing is fitted. p:
paired randomisation tests against the first bundle, corrected (Holm).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from tabulate import tabulate

from experiments.submissions.candidates import MEASURES, TESTED, Values, compared
from experiments.submissions.fusion import reciprocal, z_scores
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path
from mpir.core.blend import Blend, blend
from mpir.core.columns import Layout
from mpir.core.cutoffs import Cutoff, Cutoffs
from mpir.core.weights import Weights
from mpir.models.perspectives import open_bundle
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from mpir.tune.submissions import Pool, Submissions
from mpir.types import F64, I64

SECOND = " (second)"
"""Suffix of the second bundle's sentence columns, whose names the first bundle also has."""
System = Callable[[Pool, Cutoffs], Submissions]


def main() -> int:
    """Read arguments, measure and print."""
    parser = script_parser(__doc__)
    parser.add_argument("--scored", nargs=2, type=file_path, required=True, metavar="DIR", help="of each bundle")
    parser.add_argument("--bundles", nargs=2, type=text_path, default=["default", "fast"], help="default: default fast")
    parser.add_argument("--share", type=float, default=0.58, help="cut-off of snippets (%(default)s)")
    parser.add_argument("--version", type=int, default=9, help="of the official measures (%(default)s)")
    arguments = parser.parse_args()
    return guarded("two_bundles", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Print a row for each system."""
    first, second = (Dataset.load(folder) for folder in arguments.scored)
    weights = [
        replace(Weights.from_dict(open_bundle(name).weights, name).align_to(item.columns.layout), cutoffs=None)
        for name, item in zip(arguments.bundles, (first, second), strict=True)
    ]
    joined = first.join_columns(renamed(second))
    together = replace(halved(weights[0], weights[1]).align_to(joined.columns.layout), cutoffs=None)
    blends = [blend(item.columns, w) for item, w in zip((first, second), weights, strict=True)]
    systems: dict[str, System] = {
        arguments.bundles[0]: fused(blends[:1], z_scores),
        arguments.bundles[1]: fused(blends[1:], z_scores),
        "mean of blends": fused(blends, z_scores),
        "RRF": fused(blends, reciprocal),
        "columns": fused([blend(joined.columns, together)], z_scores),
    }
    cut = Cutoffs(snippets=Cutoff(share=arguments.share))
    values: dict[str, Values] = {}
    for name, system in systems.items():
        values[name] = {}
        for measure in MEASURES:
            objective = Objective(first, measure, version=arguments.version)
            values[name][measure] = objective.per_question(system(objective.pool, Cutoffs()))
        values[name][TESTED[1]] = objective.per_question(system(objective.pool, cut))
    p_values = {measure: compared(values, measure) for measure in TESTED}
    rows = []
    for name, figures in values.items():
        means = [f"{np.nanmean(per_question):.4f}" for per_question in figures.values()]
        rows.append([name, *means, *(f"{p_values[m][name]:.2g}" if name in p_values[m] else "" for m in TESTED)])
    print(f"{len(first.questions)} questions, version {arguments.version}\n")
    heads = ["", *MEASURES, TESTED[1], *(f"p of {measure}" for measure in TESTED)]
    print(tabulate(rows, heads, tablefmt="github", disable_numparse=True))
    return 0


def renamed(scored: Dataset) -> Dataset:
    """The set with SECOND behind the names of its columns of sentences."""
    layout = Layout(
        tuple(
            replace(column, name=column.name + SECOND) if column.level == "sentence" else column
            for column in scored.columns.layout.columns
        )
    )
    return replace(scored, columns=replace(scored.columns, layout=layout))


def halved(first: Weights, second: Weights) -> Weights:
    """The first bundle's weights, of which half of each sentence weight is the second bundle's."""
    alpha = {name: value / 2 for name, value in first.alpha.items()}
    alpha |= {name + SECOND: value / 2 for name, value in second.alpha.items()}
    return replace(first, alpha=alpha, made_by={})


def fused(blends: list[Blend], scale: Callable[[F64, I64], F64]) -> System:
    """Add up rankings of the same candidates, each scaled inside its question."""

    def submissions(pool: Pool, cutoffs: Cutoffs) -> Submissions:
        columns = pool.scored.columns
        query_of = columns.query_of[columns.document_of]
        documents = np.mean([scale(item.documents, columns.query_of) for item in blends], axis=0)
        sentences = np.mean([scale(item.sentences, query_of) for item in blends], axis=0)
        table = np.append(sentences, -np.inf)[pool.sentences]
        return Submissions(pool, documents, table, np.zeros(len(documents)), cutoffs=cutoffs)

    return submissions


if __name__ == "__main__":
    sys.exit(main())
