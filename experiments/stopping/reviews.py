"""Screen real reviews by decisions: how many records are read until 95 % of the included ones are found?

    python -m experiments.stopping.asreview --data DATA --output peer.json
    python -m experiments.stopping.reviews --data DATA --scores SCORES --peer peer.json --json orders.json

`mpir.evaluate.screening` begins with an included and an excluded record, and orders what is unread again after every
ten decisions, as the explain page does; "from the question" begins with the ten records that rank first instead.
SCORES keeps the default bundle's scores; the orders of reading go to `experiments.stopping.simulate`.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np
from tabulate import tabulate

from experiments.stopping.screened import (
    CHOSEN_ON,
    Review,
    first_decisions,
    question_scores,
    read_review,
    read_until,
    review_names,
)
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.evaluate.screening import DecisionRanker
from mpir.files.write import write_json
from mpir.types import F64

RECALL, STEP = 0.95, 10
"""The target, and the decisions between two orders (`learning.mjs`)."""


def reading_order(review: Review, ranker: DecisionRanker, scores: F64, first: list[int]) -> list[int]:
    """The positions (D,) in the order of reading; what follows the last included record has no order of its own."""
    order = first or np.argsort(-scores, kind="stable")[:STEP].tolist()
    while review.included[order].sum() != review.included.sum():
        now = ranker.scores(order, review.included[order])
        now[order] = -np.inf
        unread = len(now) - len(order)
        order = [*order, *np.argsort(-now, kind="stable")[: min(STEP, unread)].tolist()]
    return [*order, *np.setdiff1d(np.arange(len(scores)), order).tolist()]


def screen(review: Review, scores: F64, draws: int) -> dict[str, Any]:
    """The orders of reading of a review, from each draw of first decisions and from the question alone."""
    ranker = DecisionRanker(review.documents, scores)
    firsts: list[list[int]] = [first_decisions(review.included, seed) for seed in range(draws)] + [[]]
    orders = [reading_order(review, ranker, scores, first) for first in firsts]
    by_question = np.argsort(-scores, kind="stable").tolist()
    read = [read_until(order, review.included, RECALL) for order in [*orders, by_question]]
    return {
        "review": review.name,
        "records": len(scores),
        "included": int(review.included.sum()),
        "read": read[:draws],
        "from_question": read[draws],
        "question_alone": read[draws + 1],
        "labels": [review.included[order].astype(int).tolist() for order in orders],
    }


def main() -> int:
    """Screen, print, and write the orders of reading."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with the reviews")
    parser.add_argument("--scores", type=file_path, required=True, help="folder that keeps the scores of the question")
    parser.add_argument("--reviews", nargs="+", metavar="NAME", help="some of the reviews (all)")
    parser.add_argument("--draws", type=positive, default=3, help="draws of the first two decisions (3)")
    parser.add_argument("--peer", type=file_path, metavar="FILE", help="what `experiments.stopping.asreview` wrote")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the orders there")
    arguments = parser.parse_args()
    return guarded("reviews", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A row for each review, and the geometric mean of the ratios to the peer."""
    check_figures(arguments)
    peer = json.loads(arguments.peer.read_text(encoding="utf-8")) if arguments.peer else {}
    rows, results = [], []
    for name in arguments.reviews or review_names(arguments.data):
        review = read_review(arguments.data, name)
        results.append(screen(review, question_scores(review, arguments.scores), arguments.draws))
        rows.append(_row(results[-1], peer.get(name, [])[: arguments.draws]))
        print(tabulate(rows[-1:], headers="keys", tablefmt="pipe"), flush=True)
        if arguments.json:
            write_json(arguments.json, results)
    print("\n" + tabulate(rows, headers="keys", tablefmt="pipe"))
    for role, chosen in (("chosen on", True), ("reported", False)):
        ratios = [row["ratio"] for row in rows if row["ratio"] and (row["review"] in CHOSEN_ON) == chosen]
        if ratios:
            print(f"{role}: geometric mean of the ratios {np.exp(np.mean(np.log(ratios))):.3f}")
    return 0


def _row(result: dict[str, Any], peer: list[int]) -> dict[str, Any]:
    return {
        **{name: result[name] for name in ("review", "records", "included")},
        "ELAS u4": _span(peer),
        "mpir": _span(result["read"]),
        "ratio": round(float(np.mean(result["read"]) / np.mean(peer)), 3) if peer else None,
        "from the question": result["from_question"],
        "the question's order": result["question_alone"],
    }


def _span(values: list[int]) -> str:
    return "–".join(str(value) for value in dict.fromkeys((min(values), max(values)))) if values else ""


if __name__ == "__main__":
    sys.exit(main())
