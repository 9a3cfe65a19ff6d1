"""Does the blend help with only a few candidates? The first N of a search, compared with untrained baselines.

    mpir score --questions 5B?_golden.json --index INDEX --set score.gold_in_index=true --k 30 --output runs/few/dev
    mpir score … --bundle experiments/bundles/start.json --output runs/few/free-dev
    python -m experiments.ranking.few_candidates --scored runs/few/dev --free runs/few/free-dev

No model runs: candidates after the first N of each question are removed, and the rest is reranked. Below each measure
are the p-values of paired randomisation tests of the blend against the best untrained baseline, corrected (Holm) over
the numbers of candidates.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from tabulate import tabulate

from experiments.common.baselines import BM25, COSINE, SUMMED
from experiments.common.significance import corrected
from experiments.tuning.fits import SHIPPED, VERSION, by_free, fixed, free_of
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, positive
from mpir.core.blend import document_order
from mpir.tune.dataset import CANDIDATE_ARRAYS, OF_DOCUMENTS, Dataset
from mpir.tune.measures import MEASURES
from mpir.tune.objective import Objective
from mpir.types import F64

FREE = (BM25, COSINE, SUMMED)
BLEND = "blend"


def main() -> int:
    """Read arguments, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--scored", type=file_path, required=True, help="questions that `mpir score` scored")
    parser.add_argument("--free", type=file_path, required=True, help="the same, scored by the base encoder")
    parser.add_argument("--counts", nargs="+", type=positive, default=[3, 5, 10, 20, 30], metavar="N")
    parser.add_argument("--measures", nargs="+", choices=sorted(MEASURES), default=["document-map", "sentence-map"])
    parser.add_argument("--leave-out", nargs="*", default=[], metavar="ID", help="questions not to measure")
    arguments = parser.parse_args()
    return guarded("few_candidates", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A table for each measure."""
    scored, free = (without(Dataset.load(path), arguments.leave_out) for path in (arguments.scored, arguments.free))
    set_pairs = [(first_candidates(scored, count), first_candidates(free, count)) for count in arguments.counts]
    for measure in arguments.measures:
        system_values = [values(*subset, measure) for subset in set_pairs]
        rows = [
            [name, *(f"{np.nanmean(by_system[name]):.4f}" for by_system in system_values)] for name in system_values[0]
        ]
        best = [
            max(FREE, key=lambda name, by_system=by_system: float(np.nanmean(by_system[name])))
            for by_system in system_values
        ]  # type: ignore[misc]
        rows.append(["p, blend against the best that is free", *tested(system_values, best)])
        print(f"\n{measure}, {len(scored.questions)} questions\n")
        print(tabulate(rows, ["first candidates", *arguments.counts], tablefmt="pipe", disable_numparse=True))
    return 0


def first_candidates(scored: Dataset, count: int) -> Dataset:
    """The set with the first documents of each question only, best by the first stage first."""
    columns = scored.columns
    order = document_order(columns, np.zeros(len(columns.documents)))
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order)) - np.searchsorted(columns.query_of, columns.query_of)
    documents = position < count
    subset, sentences = columns.select_documents(documents)
    arrays = {
        name: getattr(scored, name)[documents if name in OF_DOCUMENTS else sentences] for name in CANDIDATE_ARRAYS
    }
    return replace(scored, columns=subset, **arrays)


def without(scored: Dataset, leave_out: Sequence[str]) -> Dataset:
    """The set without some questions."""
    return scored.subset([number for number, question in enumerate(scored.questions) if question.id not in leave_out])


def values(scored: Dataset, free: Dataset, measure: str) -> dict[str, F64]:
    """The measure of each question (Q,) by every system."""
    objective = Objective(scored, measure, version=VERSION)
    scores = {name: objective.per_question(by_free(free_of(free, name), objective)) for name in FREE}
    return {**scores, BLEND: objective.per_question(fixed(SHIPPED, scored.columns.layout))}


def tested(systems: Sequence[dict[str, F64]], against: Sequence[str]) -> list[str]:
    """The p-values of the blend against one system for each number of candidates, corrected over these."""
    pairs = [(by_system[BLEND], by_system[name]) for by_system, name in zip(systems, against, strict=True)]
    return [f"{p:.4f}" for p in corrected(pairs)]


if __name__ == "__main__":
    sys.exit(main())
