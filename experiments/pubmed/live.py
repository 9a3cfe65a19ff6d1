"""Recall of `mpir pubmed` with the real services, for BioASQ's questions on the printed date.

    python -m experiments.pubmed.live --questions DATA/bioasq/11B4_golden.json --limit 100

The questions leave this machine. Gold documents date from the year of the judgements; --to limits a search to papers
published by then, because later papers would displace them. The script prints recall at k for the plan and for the
unchanged question, with PubMed alone and with both services, and the number of questions with a warning.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Callable, Sequence

from tabulate import tabulate
from tqdm import tqdm

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, positive
from mpir.core.text import Question
from mpir.errors import InputError
from mpir.files.corpora import read_questions
from mpir.search.pubmed import SearchResult, Settings, search


def main() -> int:
    """Read arguments, ask, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--questions", type=file_path, required=True, help="BioASQ's JSON with gold documents")
    parser.add_argument("--limit", type=positive, default=100, metavar="N", help="the first N questions (%(default)s)")
    parser.add_argument("--k", type=positive, default=200, help="candidates of a question (%(default)s)")
    parser.add_argument("--to", metavar="DATE", help="last publication date, such as the round's year")
    parser.add_argument("--eutils", metavar="URL", help="base URL of /esearch.fcgi (default: NCBI's)")
    parser.add_argument("--europepmc", metavar="URL", help="base URL of /search (default: Europe PMC's)")
    arguments = parser.parse_args()
    return guarded("live", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Ask every system every question, then print the table."""
    questions = [question for question in read_questions(arguments.questions) if question.documents]
    if not questions:
        raise InputError(f"{arguments.questions}: no question has gold documents; give a gold file.")
    settings = Settings.from_environment(eutils=arguments.eutils, europepmc=arguments.europepmc)
    rows = []
    for name, ask in systems(settings, arguments.k, arguments.to).items():
        recalls, incomplete = recalls_of(questions[: arguments.limit], ask, name)
        rows.append([name, sum(recalls) / len(recalls), incomplete])
    print(f"{datetime.date.today()}: {len(recalls)} questions of {arguments.questions.name}\n")
    print(tabulate(rows, ["", f"recall@{arguments.k}", "incomplete"], floatfmt=".4f", tablefmt="github"))
    return 0


def systems(settings: Settings, k: int, end: str | None) -> dict[str, Callable[[str], SearchResult]]:
    """The ways to ask, by name."""

    def planned(*sources: str) -> Callable[[str], SearchResult]:
        return lambda query: search(query, k, end=end, sources=sources, settings=settings)

    def as_it_is(query: str) -> SearchResult:
        return search(query, k, own_query=query, end=end, sources=["pubmed"], settings=settings)

    return {
        "question as it is, PubMed": as_it_is,
        "plan, PubMed": planned("pubmed"),
        "plan, both": planned("pubmed", "europepmc"),
    }


def recalls_of(questions: Sequence[Question], ask: Callable[[str], SearchResult], name: str) -> tuple[list[float], int]:
    """Each question's recall, and how many had a warning. A query that PubMed cannot match has a recall of 0.

    Raises:
        ServiceError: the services fail: a figure over fewer questions would be another one.
    """
    recalls, incomplete = [], 0
    for question in tqdm(questions, desc=name, leave=False):
        gold = set(question.documents or ())
        try:
            result = ask(question.body)
        except InputError:
            recalls.append(0.0)
            continue
        incomplete += bool(result.warnings)
        recalls.append(len(gold & {document.id for document in result}) / len(gold))
    return recalls, incomplete


if __name__ == "__main__":
    sys.exit(main())
