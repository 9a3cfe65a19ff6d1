"""From which probability on is a sentence evidence? Answers that are lost, and questions that nothing answers.

    python -m experiments.evidence.floor --data DATA --split dev --limit 63

Each question of `experiments.evidence.budget` is ranked with its own candidates, and with some of another question,
which rarely answer it. For each floor (`min_answer_probability`) a row has the share of the answers that 500 tokens of
evidence name, the tokens used, and the share of questions without evidence, for both kinds of candidates.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
from tabulate import tabulate

from experiments.calibration.lists import BATCHES
from experiments.evidence.budget import COUNT, AnsweredQuestion, questions_of, recall
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.model_options import add_model_options, load_reranker, model_arguments
from mpir.app.cli.value_options import file_path, positive
from mpir.errors import InputError
from mpir.reranking.evidence import Evidence
from mpir.reranking.ranking import Ranking

FLOORS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
BUDGET = 500
SHIFT = 7
"""The distance, in the list of questions, to the question whose candidates do not answer."""


def main() -> int:
    """Rank, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/ and pubmed/")
    parser.add_argument("--split", choices=sorted(BATCHES), default="dev", help="default: dev")
    parser.add_argument("--limit", type=positive, default=63, help="questions that lists are made of (63)")
    parser.add_argument("--candidates", type=positive, default=12, help="a question's own candidates (12)")
    parser.add_argument("--foreign", type=positive, default=5, help="candidates of another question (5)")
    add_model_options(parser)
    arguments = parser.parse_args()
    return guarded("floor", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A row for each floor."""
    chosen = questions_of(arguments.data, arguments.split, arguments.limit)
    if len(chosen) <= SHIFT:
        raise InputError(f"--limit {arguments.limit}: only {len(chosen)} questions have enough candidates; raise it.")
    shifted = [chosen[(number + SHIFT) % len(chosen)] for number in range(len(chosen))]
    reranker, queries = load_reranker(model_arguments(arguments)), [question.query for question in chosen]
    matching = list(reranker.stream(queries, [question.candidates[: arguments.candidates] for question in chosen]))
    foreign = list(reranker.stream(queries, [question.candidates[: arguments.foreign] for question in shifted]))
    rows = [[floor, *row(chosen, matching, foreign, floor)] for floor in FLOORS]
    heads = ["floor", "recall", "tokens", "without evidence", "foreign: tokens", "foreign: without evidence"]
    print(f"{len(chosen)} questions\n\n{tabulate(rows, heads, tablefmt='pipe', floatfmt='.3g')}")
    return 0


def row(
    chosen: Sequence[AnsweredQuestion], matching: Sequence[Ranking], foreign: Sequence[Ranking], floor: float
) -> list[float]:
    """Recall, tokens and the share of questions without evidence for own candidates, then both for foreign ones."""
    of_matching, of_foreign = (
        [ranking.evidence(BUDGET, min_answer_probability=floor) for ranking in rankings]
        for rankings in (matching, foreign)
    )
    named = [
        recall(question, "\n".join(passage.text for passage in evidence))
        for question, evidence in zip(chosen, of_matching, strict=True)
    ]
    return [float(np.mean(named)), *counts(of_matching), *counts(of_foreign)]


def counts(results: Sequence[Evidence]) -> tuple[float, float]:
    """The mean number of tokens, and the share of empty results."""
    tokens = [sum(COUNT(passage.text) for passage in evidence) for evidence in results]
    return float(np.mean(tokens)), float(np.mean([not evidence for evidence in results]))


if __name__ == "__main__":
    sys.exit(main())
