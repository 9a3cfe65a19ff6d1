"""How many snippets should be submitted, of which length, and with which fusion? Chosen on dev, reported on test.

    python -m experiments.submissions.compare --dev runs/submissions/dev --test runs/submissions/test \
        --weights mpir/bundles/fast/weights.json

Both sets come from `mpir score`. Everything is fitted on dev before test is read. Without --test, only dev is reported,
whose questions the fitted systems have seen.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from tabulate import tabulate

from experiments.common.significance import corrected, with_values
from experiments.submissions.fusion import mean_z_scores, reciprocal_ranks
from experiments.submissions.joined import joined_values
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, positive, text_path
from mpir.bioasq.task import added_up
from mpir.core.blend import blend
from mpir.core.cutoffs import Cutoff, Cutoffs
from mpir.core.weights import Weights
from mpir.evaluate import randomisation_test
from mpir.files.weights import read_weights
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from mpir.tune.optimiser import Bayesian
from mpir.tune.search import Plan, search
from mpir.tune.space import Space
from mpir.tune.submissions import Submissions
from mpir.types import F64

MEASURES = ("document-map", "snippet-map", "snippet-f1")
TODAY = "weights that ship, ten and ten"
SHARES, NUMBERS = np.linspace(0, 1, 51)[1:], range(3, 11)
CURVE = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8)
Values = dict[str, F64]
System = Callable[[Objective], F64]
"""A measure's objective over a scored set to its value for each question (Q,)."""


def main() -> int:
    """Read arguments, fit, measure and print."""
    parser = script_parser(__doc__)
    parser.add_argument("--dev", type=file_path, required=True, help="scored questions to choose on")
    parser.add_argument("--test", type=file_path, help="scored questions to report")
    parser.add_argument(
        "--weights",
        type=text_path,
        required=True,
        metavar="FILE",
        help="weights of the same bundle, without their cut-offs",
    )
    parser.add_argument("--calls", type=positive, default=15, help="evaluations for each half and loop (%(default)s)")
    parser.add_argument("--loops", type=positive, default=3, help="loops (%(default)s)")
    parser.add_argument("--version", type=int, default=9, help="of the official measures (%(default)s)")
    arguments = parser.parse_args()
    return guarded("submissions", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Fit on dev, then print a table of dev and one of test."""
    dev = Dataset.load(arguments.dev)
    weights = replace(read_weights(arguments.weights).align_to(dev.columns.layout), cutoffs=None)
    uncut = tuned(dev, "snippet-f1", arguments, cut=())
    report_rules(Objective(dev, "snippet-f1"), weights)
    systems = fit_systems(dev, weights, uncut, arguments)
    curves = {"weights that ship": weights, "weights tuned": uncut}
    for name, path in (("dev", arguments.dev), ("test", arguments.test)):
        if path is not None:
            report(name, Dataset.load(path), systems, arguments.version)
            report_shares(name, Dataset.load(path), curves, arguments.version)
            cut = best_cutoff(Objective(dev, "snippet-f1"), weights)
            report_parts(name, Dataset.load(path), replace(weights, cutoffs=cut), arguments.version)
    return 0


def fit_systems(dev: Dataset, weights: Weights, uncut: Weights, arguments: argparse.Namespace) -> dict[str, System]:
    """Every system by name, fitted on dev; `uncut` are weights that were tuned without a cut-off."""
    objective = Objective(dev, "snippet-f1")
    cut = best_cutoff(objective, weights)
    print(f"Cut-off of the weights that ship, chosen on dev: {cut.snippets}.")
    both = tuned(dev, "snippet-f1", arguments, cut=("snippets",))
    both_cut = (both.cutoffs or Cutoffs()).snippets
    print(f"Cut-off tuned together with the weights: {both_cut}.")
    untrained = added_up(weights)
    systems: dict[str, System] = {"BM25": _by_bm25}
    if untrained is not None and untrained.weights is not None:
        systems[untrained.name] = _by_weights(untrained.weights)
    systems |= {
        TODAY: _by_weights(weights),
        "mean of z-scores, ten and ten": lambda item: item.per_question(mean_z_scores(item.pool)),
        "reciprocal rank fusion, ten and ten": lambda item: item.per_question(reciprocal_ranks(item.pool)),
        "mean of z-scores, cut": _cut_fusion(mean_z_scores, objective),
        "reciprocal rank fusion, cut": _cut_fusion(reciprocal_ranks, objective),
        "weights tuned, ten and ten": _by_weights(uncut),
        "weights that ship, five snippets": _by_weights(replace(weights, cutoffs=Cutoffs(snippets=Cutoff(maximum=5)))),
        "weights that ship, cut": _by_weights(replace(weights, cutoffs=cut)),
        "weights that ship, cut, joined at 0.8": lambda item: joined_values(item, replace(weights, cutoffs=cut), 0.8),
        "weights and cut-off tuned together": _by_weights(both),
    }
    return systems


def report_shares(name: str, scored: Dataset, by_name: dict[str, Weights], version: int) -> None:
    """Print how average precision and F change with the share that a snippet must reach."""
    rows = []
    for system, weights in by_name.items():
        for share in CURVE:
            cut = replace(weights, cutoffs=Cutoffs(snippets=Cutoff(share=share)))
            objectives = [Objective(scored, measure, version=version) for measure in MEASURES[1:]]
            submitted = (objectives[0].answers(cut).snippets >= 0).sum(axis=1).mean()
            rows.append([system, f"{share:.1f}", f"{submitted:.1f}", *(f"{item(cut):.4f}" for item in objectives)])
    print(f"\n{name}, by the share that a snippet must reach:\n")
    heads = ["", "share", "snippets", *MEASURES[1:]]
    print(tabulate(rows, heads, tablefmt="github", disable_numparse=True))


def report_parts(name: str, scored: Dataset, weights: Weights, version: int) -> None:
    """Print how the measures change without each column, the context or the cut-off; nothing is tuned again."""
    reduced = {f"without {column}": replace(weights, alpha={**weights.alpha, column: 0.0}) for column in weights.alpha}
    for column in weights.beta:
        reduced[f"without {column}"] = replace(weights, beta={**weights.beta, column: 0.0})
    reduced["without context"] = replace(weights, alpha_context=0.0)
    reduced["without cut-off"] = replace(weights, cutoffs=None)
    rows = []
    objectives = [Objective(scored, measure, version=version) for measure in MEASURES]
    full = [objective.per_question(weights) for objective in objectives]
    for label, changed in reduced.items():
        cells = []
        for objective, values in zip(objectives, full, strict=True):
            first, second = with_values(objective.per_question(changed), values)
            cells.append(f"{(first - second).mean():+.4f}; p {randomisation_test(first, second):.2g}")
        rows.append([label, *cells])
    print(f"\n{name}, weights that ship, cut, without one part; p not corrected:\n")
    print(tabulate(rows, ["", *MEASURES], tablefmt="github", disable_numparse=True))


def report_rules(objective: Objective, weights: Weights) -> None:
    """Print the best cut-off of each rule on dev. A probability is a score by another name: its map is monotone."""
    scores = np.quantile(_submitted_scores(objective, weights), np.linspace(0, 1, 51))
    rules = {
        "number": [Cutoff(maximum=number) for number in range(1, 11)],
        "score": [Cutoff(score=float(score)) for score in scores],
        "share": [Cutoff(share=float(share)) for share in SHARES],
    }
    rows = []
    for name, cutoffs in rules.items():
        choices = [replace(weights, cutoffs=Cutoffs(snippets=cutoff)) for cutoff in cutoffs]
        values = [objective(choice) for choice in choices]
        rows.append([name, str(cutoffs[int(np.argmax(values))]), f"{max(values):.4f}"])
    print(tabulate(rows, ["rule", "best on dev", objective.name], tablefmt="github", disable_numparse=True))


def _submitted_scores(objective: Objective, weights: Weights) -> F64:
    """The blended scores of all snippets that the weights submit without a cut-off."""
    chosen = objective.answers(replace(weights, cutoffs=None)).snippets
    return blend(objective.scored.columns, weights).sentences[chosen[chosen >= 0]]


def best_cutoff(objective: Objective, weights: Weights) -> Cutoffs:
    """The share and the greatest number of snippets that are best for fixed weights."""
    choices = [Cutoffs(snippets=Cutoff(share=float(s), maximum=n)) for s in SHARES for n in NUMBERS]
    return max(choices, key=lambda cutoffs: objective(replace(weights, cutoffs=cutoffs)))


def tuned(dev: Dataset, measure: str, arguments: argparse.Namespace, *, cut: tuple[str, ...]) -> Weights:
    """Weights, and cut-offs of the levels in `cut`, by the alternating search of `mpir tune`."""
    halves = ("beta", "alpha", *(("cutoffs",) if cut else ()))
    plan = Plan(halves=halves, calls=arguments.calls, loops=arguments.loops, optimiser=Bayesian(initial=8))
    space = Space.of(dev.columns, normalise="zscore", cut=cut)
    return search(Objective(dev, measure), space, plan).weights


def _by_weights(weights: Weights) -> System:
    return lambda objective: objective.per_question(weights)


def _by_bm25(objective: Objective) -> F64:
    scored = objective.scored
    return objective.per_question(objective.pool.answers(scored.columns.first_stage, np.asarray(scored.lexical)))


def _cut_fusion(fuse: Callable[..., Submissions], dev: Objective) -> System:
    """A fusion with the share that is best on dev."""
    shares = [Cutoffs(snippets=Cutoff(share=float(share))) for share in SHARES]
    best = max(shares, key=lambda cutoffs: dev(fuse(dev.pool, cutoffs)))
    return lambda objective: objective.per_question(fuse(objective.pool, best))


def report(name: str, scored: Dataset, systems: dict[str, System], version: int) -> None:
    """Print the measures of every system, and p against today's for snippets' F1, corrected over the table (Holm)."""
    values = {
        measure: {system: by(Objective(scored, measure, version=version)) for system, by in systems.items()}
        for measure in MEASURES
    }
    f1 = values["snippet-f1"]
    compared = [item for item in systems if item != TODAY]
    p_values = dict(zip(compared, corrected([(f1[item], f1[TODAY]) for item in compared]), strict=True))
    rows = [
        [item, *(f"{np.nanmean(values[measure][item]):.4f}" for measure in MEASURES), _text(p_values.get(item))]
        for item in systems
    ]
    print(f"\n{name}: {len(scored.questions)} questions, version {version}\n")
    print(tabulate(rows, ["", *MEASURES, "p of F1"], tablefmt="github", disable_numparse=True))
    _print_changes(values, systems)


def _print_changes(values: dict[str, Values], systems: Sequence[str] | dict[str, System]) -> None:
    """Print how far each system's measures are from today's, in per cent."""
    rows = []
    for item in systems:
        means = [(np.nanmean(values[measure][item]), np.nanmean(values[measure][TODAY])) for measure in MEASURES]
        rows.append([item, *(f"{100 * (new / old - 1):+.1f} %" for new, old in means)])
    print(f"\nAgainst {TODAY}:\n")
    print(tabulate(rows, ["", *MEASURES], tablefmt="github", disable_numparse=True))


def _text(p: float | None) -> str:
    return "" if p is None else f"{p:.4f}"


if __name__ == "__main__":
    sys.exit(main())
