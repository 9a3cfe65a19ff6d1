"""The records that ASReview's default, ELAS u4, reads of real reviews until 95 % of the included ones are found.

    python -m venv peer && peer/bin/pip install asreview==3.0.8 tabulate
    PYTHONPATH=. peer/bin/python -m experiments.stopping.asreview --data DATA --output peer.json

It begins with the same first decisions as `experiments.stopping.reviews`, and learns after each decision.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from experiments.stopping.screened import Review, first_decisions, read_review, read_until, review_names
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, positive
from mpir.files.output_checks import Output, are_figures, check_outputs
from mpir.files.write import write_json

RECALL = 0.95


def records_read(review: Review, first: list[int]) -> int:
    """Simulate one screening until every included record is found."""
    import pandas as pd
    from asreview.learner import ActiveLearningCycle
    from asreview.models.models import get_ai_config
    from asreview.simulation.simulate import Simulate

    texts = pd.DataFrame([{"title": item.title, "abstract": item.abstract} for item in review.documents])
    cycle = ActiveLearningCycle.from_meta(get_ai_config("elas_u4")["value"])
    simulation = Simulate(texts, pd.Series(review.included.astype(int)), [cycle], print_progress=False)
    simulation.label(first)
    simulation.review()
    return read_until(simulation._results["record_id"].tolist(), review.included, RECALL)


def main() -> int:
    """Simulate, print, and write the numbers."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with the reviews")
    parser.add_argument("--reviews", nargs="+", metavar="NAME", help="some of the reviews (all)")
    parser.add_argument("--draws", type=positive, default=3, help="draws of the first two decisions (3)")
    parser.add_argument("--output", type=file_path, required=True, metavar="FILE", help="write the numbers there")
    arguments = parser.parse_args()
    return guarded("asreview", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A line for each review."""
    check_outputs([Output("--output", arguments.output, are_figures)], [("--data", arguments.data)])
    numbers: dict[str, Any] = {}
    for name in arguments.reviews or review_names(arguments.data):
        review = read_review(arguments.data, name)
        numbers[name] = [
            records_read(review, first_decisions(review.included, seed)) for seed in range(arguments.draws)
        ]
        print(name, *numbers[name], flush=True)
        write_json(arguments.output, numbers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
