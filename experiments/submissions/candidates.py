"""Does a better first stage make a better submission? Measures of the same questions with other candidates.

    mpir score --questions DATA/bioasq/5B?_golden.json --index abstracts-index --set score.gold_in_index=true --k 30 \\
        --output runs/submissions/bm25
    mpir score … --set rm3.terms=20 --output runs/submissions/rm3
    python -m experiments.submissions.candidates --weights mpir/bundles/default/weights.json --share 0.58 \\
        --scored BM25=runs/submissions/bm25 RM3=runs/submissions/rm3

For each scored set: recall of the candidates, sentences to score for a question, BioASQ's measures of ten documents and
ten snippets, and the F of snippets that are cut at --share. p: paired randomisation tests against the first set,
corrected for the number of sets (Holm). The means are over questions that all sets have.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from tabulate import tabulate

from experiments.common.significance import corrected
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import text_path
from mpir.core.cutoffs import Cutoff, Cutoffs
from mpir.core.weights import Weights
from mpir.errors import InputError
from mpir.files.weights import read_weights
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from mpir.types import F64

MEASURES = ("document-map", "snippet-map", "snippet-f1")
TESTED = ("document-map", "snippet-f1, cut")
Values = dict[str, F64]


def main() -> int:
    """Read arguments, measure and print."""
    parser = script_parser(__doc__)
    parser.add_argument("--scored", nargs="+", required=True, type=text_path, metavar="NAME=DIR", help="scored sets")
    parser.add_argument("--weights", type=text_path, required=True, metavar="FILE", help="weights of their bundle")
    parser.add_argument("--share", type=float, default=0.58, help="cut-off of snippets (%(default)s)")
    parser.add_argument("--version", type=int, default=9, help="of the official measures (%(default)s)")
    arguments = parser.parse_args()
    return guarded("candidates", lambda: run(arguments))


def named_folder(text: str) -> tuple[str, Path]:
    """The name and the folder of ``NAME=DIR``. Raises InputError for another form."""
    name, separator, folder = text.partition("=")
    if not separator or not name:
        raise InputError(f"--scored: {text!r} is given; expected NAME=DIR.")
    return name, Path(folder)


def run(arguments: argparse.Namespace) -> int:
    """Print a row for each set."""
    sets = common_questions({name: Dataset.load(folder) for name, folder in map(named_folder, arguments.scored)})
    cutoffs = Cutoffs(snippets=Cutoff(share=arguments.share))
    values: dict[str, Values] = {}
    for name, scored in sets.items():
        weights = replace(read_weights(arguments.weights).align_to(scored.columns.layout), cutoffs=None)
        values[name] = measured(scored, weights, cutoffs, arguments.version)
    p_values = {measure: compared(values, measure) for measure in TESTED}
    rows = []
    for name, figures in values.items():
        means = {measure: f"{np.nanmean(per_question):.4f}" for measure, per_question in figures.items()}
        for measure in TESTED:
            means[measure] += "".join(f"; p {p:.2g}" for p in [p_values[measure].get(name)] if p is not None)
        rows.append([name, *means.values()])
    first = next(iter(values.values()))
    print(f"{len(first['recall'])} questions, version {arguments.version}\n")
    print(tabulate(rows, ["", *first], tablefmt="github", disable_numparse=True))
    return 0


def common_questions(sets: Mapping[str, Dataset]) -> dict[str, Dataset]:
    """The sets with the questions that all of them have, in the first set's order. Raises InputError for none."""
    ids = {name: {question.id: i for i, question in enumerate(item.questions)} for name, item in sets.items()}
    first = next(iter(ids.values()))
    shared = [name for name in first if all(name in numbers for numbers in ids.values())]
    if not shared:
        raise InputError("--scored: the sets have no question in common; score the same questions.")
    return {name: item.subset(np.array([ids[name][q] for q in shared])) for name, item in sets.items()}


def measured(scored: Dataset, weights: Weights, cutoffs: Cutoffs, version: int) -> Values:
    """Recall of the candidates, sentences to score, and the measures, of each question (Q,)."""
    columns = scored.columns
    gold = [set(question.documents or ()) for question in scored.questions]
    is_gold = [
        str(document) in gold[question] for document, question in zip(scored.documents, columns.query_of, strict=True)
    ]
    hits = np.bincount(columns.query_of, is_gold, len(gold))
    sentences = np.bincount(columns.query_of[columns.document_of], minlength=len(gold))
    values = {"recall": hits / [len(documents) for documents in gold], "sentences": sentences.astype(float)}
    for name in MEASURES:
        values[name] = Objective(scored, name, version=version).per_question(weights)
    values["snippet-f1, cut"] = Objective(scored, "snippet-f1", version=version).per_question(
        replace(weights, cutoffs=cutoffs)
    )
    return values


def compared(values: Mapping[str, Values], measure: str) -> dict[str, float]:
    """The p-value of each set but the first against the first one, corrected over the sets."""
    reference, *names = values
    pairs = [(values[name][measure], values[reference][measure]) for name in names]
    return dict(zip(names, corrected(pairs), strict=True))


if __name__ == "__main__":
    sys.exit(main())
