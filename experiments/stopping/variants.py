"""Settings of the learner on 27 sets of labels of the five reviews on which it may be chosen.

    python -m experiments.stopping.variants --data DATA --scores SCORES

Five numbers are few to choose by. Here each review is screened for what was included by full text and by abstract,
whole and in two random 60 % of its records. A ratio is the number of records read until 95 % of the included are
found, divided by that of ELAS u4's settings; all order anew after ten decisions. SCORES is as in
`experiments.stopping.reviews`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tabulate import tabulate

from experiments.stopping.reviews import RECALL, STEP
from experiments.stopping.screened import CHOSEN_ON, first_decisions, question_scores, read_review, read_until
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path
from mpir.evaluate.screening import BALANCE, PENALTY, QUESTION, TITLE
from mpir.types import F64, I64, Bool

SUBSETS, SHARE, FEWEST = 2, 0.6, 5
LABELS = ("included", "included_by_abstract")


class Machine(NamedTuple):
    """A support vector machine: the weight of the title's terms, the penalty, and the factor of the question."""

    title: float
    penalty: float
    question: float


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Records with the products (D, D) of their terms and of their titles' terms, question scores and labels (D,)."""

    name: str
    terms: F64
    titles: F64
    question: F64
    included: Bool


U4 = Machine(0, 0.11, 0)
VARIANTS: dict[str, tuple[list[Machine], float]] = {
    "ELAS u4's settings": ([U4], 0),
    "mpir": ([Machine(TITLE, PENALTY, 0), Machine(TITLE, PENALTY, QUESTION)], 0),
    "mpir, agreement 0.6": ([Machine(TITLE, PENALTY, 0), Machine(TITLE, PENALTY, QUESTION)], 0.6),
    "mpir, words alone": ([Machine(TITLE, PENALTY, 0)], 0),
    "C 0.06, agreement 0.6": ([Machine(TITLE, 0.06, 0), Machine(TITLE, 0.06, QUESTION)], 0.6),
    "C 0.11, agreement 0.6": ([Machine(TITLE, 0.11, 0), Machine(TITLE, 0.11, QUESTION)], 0.6),
    "u4 and the question, agreement 0.6": ([U4, Machine(0, 0.11, QUESTION)], 0.6),
}
"""The machines whose mean orders, and the area under the curve of the question on the decisions below which those that
know it are left out."""


def label_sets(data: Path, scores: Path, name: str) -> Iterator[Labels]:
    """Yield a review for each kind of inclusion, whole and in random subsets."""
    reviews = [read_review(data, name, column) for column in LABELS]
    if (reviews[0].included == reviews[1].included).all():
        del reviews[1]
    documents, question = reviews[0].documents, question_scores(reviews[0], scores)
    products = [_products([item.text for item in documents], 0.95), _products([item.title for item in documents], 1.0)]
    for review, column in zip(reviews, LABELS, strict=False):
        for seed in range(SUBSETS + 1):
            order = np.random.default_rng(100 + seed).permutation(len(question))
            rows = np.sort(order[: int(SHARE * len(order))]) if seed else np.arange(len(order))
            if review.included[rows].sum() >= FEWEST:
                terms, titles = (product[np.ix_(rows, rows)] for product in products)
                yield Labels(
                    name=f"{name}, {column}, {seed}",
                    terms=terms,
                    titles=titles,
                    question=_standard(question[rows]),
                    included=review.included[rows],
                )


def records_read(labels: Labels, machines: list[Machine], agreement: float) -> int:
    """The records read until the target, from one draw of first decisions."""
    products = [
        labels.terms + 1 + machine.title * labels.titles + np.outer(*[machine.question * labels.question] * 2)
        for machine in machines
    ]
    order = first_decisions(labels.included, 0)
    while labels.included[order].sum() < RECALL * labels.included.sum() - 1e-9:
        rows, relevant = np.array(order), labels.included[order]
        drops = agreement > 0 and area_under_curve(labels.question[rows], relevant) < agreement
        used = [number for number, machine in enumerate(machines) if not (drops and machine.question)]
        margins = [_standard(_margins(products[number], rows, relevant, machines[number].penalty)) for number in used]
        scores = np.sum(margins, axis=0)
        scores[rows] = -np.inf
        order += np.argsort(-scores, kind="stable")[: min(STEP, len(scores) - len(order))].tolist()
    unread = np.setdiff1d(np.arange(len(labels.question)), order)
    return read_until([*order, *unread.tolist()], labels.included, RECALL)


def area_under_curve(scores: F64, relevant: Bool) -> float:
    """The share of pairs of a relevant and an irrelevant document that the scores order rightly; ties count half."""
    differences = scores[relevant][:, None] - scores[~relevant]
    return float((differences > 0).mean() + (differences == 0).mean() / 2)


def _products(texts: list[str], max_df: float) -> F64:
    from sklearn.feature_extraction.text import TfidfVectorizer

    features = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_df=max_df).fit_transform(texts)
    products: F64 = (features @ features.T).toarray()
    return products


def _margins(products: F64, rows: I64, relevant: Bool, penalty: float) -> F64:
    """The distance (D,) from the plane with the least squared hinge loss, by Newton's method on the dual problem."""
    weights = np.where(relevant, BALANCE / relevant.sum(), 1 / (~relevant).sum()) * len(rows) / (1 + BALANCE)
    signs, inner = np.where(relevant, 1.0, -1.0), products[np.ix_(rows, rows)]
    active, slack = np.ones(len(rows), bool), 1 / (2 * penalty * weights)
    for _ in range(50):
        chosen = np.flatnonzero(active)
        dual = np.linalg.solve(inner[np.ix_(chosen, chosen)] + np.diag(slack[chosen]), signs[chosen])
        active = signs * (inner[:, chosen] @ dual) < 1
        if np.array_equal(np.flatnonzero(active), chosen):
            break
    margins: F64 = products[:, rows[chosen]] @ dual
    return margins


def _standard(values: F64) -> F64:
    scaled: F64 = (values - values.mean()) / (values.std() or 1.0)
    return scaled


def main() -> int:
    """Screen with each variant, and print a row for each."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with the reviews")
    parser.add_argument("--scores", type=file_path, required=True, help="folder that keeps the scores of the question")
    parser.add_argument("--reviews", nargs="+", choices=CHOSEN_ON, default=CHOSEN_ON, help="some of the five (all)")
    arguments = parser.parse_args()
    return guarded("variants", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The geometric mean of the ratios, and the largest."""
    every = [labels for name in arguments.reviews for labels in label_sets(arguments.data, arguments.scores, name)]
    rows, baseline = list[dict[str, Any]](), np.ones(len(every))
    for name, (machines, agreement) in VARIANTS.items():
        read = np.array([records_read(labels, machines, agreement) for labels in every], float)
        baseline = read if not rows else baseline
        ratios = read / baseline
        rows.append({"variant": name, "sets": len(every), "ratio": np.exp(np.log(ratios).mean()), "max": ratios.max()})
        print(name, *ratios.round(2), flush=True)
    print("\n" + tabulate(rows, headers="keys", tablefmt="pipe", floatfmt=".3f"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
