"""Is a title an answer? The effect of showing and submitting titles after the body's sentences, on scored questions.

    python -m experiments.submissions.titles --scored runs/submissions/dev --weights mpir/bundles/default/weights.json

`shown` counts relevant documents with a gold snippet whose first sentence, by the blend, overlaps one: the best of all
sentences, or the best of the body. `submitted` has the official measures of ten snippets for a question: as the blend
orders them, or with titles after all sentences of the body. Differences have bootstrap intervals over questions.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import numpy as np
from tabulate import tabulate

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path
from mpir.core.blend import blend
from mpir.core.text import TITLE
from mpir.evaluate import bootstrap_interval
from mpir.files.weights import read_weights
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from mpir.types import F64, I64, Bool

MEASURES = ("snippet-map", "snippet-f1")


def main() -> int:
    """Read arguments, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--scored", type=file_path, required=True, help="scored questions")
    parser.add_argument("--weights", type=text_path, required=True, metavar="FILE", help="weights of the same bundle")
    arguments = parser.parse_args()
    return guarded("titles", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Print both tables."""
    scored = Dataset.load(arguments.scored)
    weights = replace(read_weights(arguments.weights).align_to(scored.columns.layout), cutoffs=None)
    blended, titles = blend(scored.columns, weights), np.asarray(scored.sections) == TITLE
    behind = np.where(titles, blended.sentences - np.ptp(blended.sentences) - 1.0, blended.sentences)
    objective = Objective(scored, MEASURES[0])
    gold = np.array([snippet.begin_section == TITLE for q in scored.questions for snippet in q.snippets or ()])
    print(f"{len(scored.questions)} questions; {gold.mean():.1%} of gold snippets and {titles.mean():.1%} of all ")
    print("sentences are in titles.\n")
    print(tabulate(shown(objective, blended.sentences, behind), ["shown", "overlaps a gold snippet", "difference"]))
    rows = []
    for measure in MEASURES:
        item = Objective(scored, measure)
        before, after = (
            item.per_question(item.pool.answers(blended.documents, sentences))
            for sentences in (blended.sentences, behind)
        )
        rows.append([measure, f"{np.nanmean(before):.4f}", f"{np.nanmean(after):.4f}", interval(after - before)])
    print("\n" + tabulate(rows, ["submitted", "as blended", "titles last", "difference"], disable_numparse=True))
    return 0


def shown(objective: Objective, everything: F64, body_first: F64) -> list[list[str]]:
    """Rows for the best of all sentences, and for the best of the body."""
    judgements, columns = objective.pool.judgements, objective.scored.columns
    counted = np.flatnonzero(np.bincount(columns.document_of[judgements.overlaps], minlength=len(columns.documents)))
    found = [
        judgements.overlaps[best_sentences(scores, columns.document_of)[counted]] for scores in (everything, body_first)
    ]
    before, after = (by_question(values, columns.query_of[counted]) for values in found)
    return [
        ["the best of all sentences", f"{found[0].mean():.3f}", ""],
        ["the best of the body", f"{found[1].mean():.3f}", interval(after - before)],
    ]


def best_sentences(scores: F64, document_of: I64) -> I64:
    """The row (D,) of each document's best sentence, the first of equal ones; -1 for a document without any."""
    best = np.full(document_of.max(initial=-1) + 1, -1)
    order = np.lexsort((-np.arange(len(scores)), scores))
    best[document_of[order]] = order  # the last one written is the best
    return best


def by_question(found: Bool, query_of: I64) -> F64:
    """The share of each question's documents, of those questions that have any."""
    counts = np.bincount(query_of)
    return (np.bincount(query_of, weights=found) / np.maximum(counts, 1))[counts > 0]


def interval(differences: F64) -> str:
    """The mean difference, and its interval."""
    known = differences[~np.isnan(differences)]
    low, high = bootstrap_interval(known)
    return f"{known.mean():+.4f} ({low:+.4f} to {high:+.4f})"


if __name__ == "__main__":
    sys.exit(main())
