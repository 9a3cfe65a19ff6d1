"""What is lost where documents are not read, or not to the end: the constants of mpir/reranking/stages.py.

    mpir score … --k 30 --cascade all --output runs/whole
    mpir score … --k 30 --cascade first --output runs/first
    mpir score … --k 100 --cascade first --output runs/long
    python -m experiments.ranking.stages --whole runs/whole --first runs/first --long runs/long

No model runs. The first table has the best N documents at the exit with the scores of the last layer, and the others
with those of the exit; the second has all but the best N by words left out of the reading (their sentences are lost,
and they are ranked by words alone). Documents are measured by MAP of the first ten, sentences by MAP over all
sentences of the question's candidates.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tabulate import tabulate

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, positive, text_path
from mpir.core.blend import Blend
from mpir.core.calibration import Calibration
from mpir.errors import InputError
from mpir.evaluate import bootstrap_interval
from mpir.models.bundles.bundle import open_bundle
from mpir.tune.dataset import Dataset
from mpir.tune.judgements import judge
from mpir.types import F64, I64, Bool

DEPTH = 10
HEADS = ("", "documents", "difference", "95 % interval", "sentences", "difference", "95 % interval")


def main() -> int:
    """Read arguments, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--whole", type=file_path, required=True, help="questions scored with --cascade all")
    parser.add_argument("--first", type=file_path, required=True, help="the same with --cascade first")
    parser.add_argument("--long", type=file_path, help="questions with long lists, with --cascade first")
    parser.add_argument(
        "--bundle", type=text_path, default="default", help="whose calibration orders documents (default: default)"
    )
    parser.add_argument("--read-on", nargs="+", type=positive, default=[5, 8, 10, 12, 16, 20], metavar="N")
    parser.add_argument("--read", nargs="+", type=positive, default=[30, 40, 50, 60, 80], metavar="N")
    arguments = parser.parse_args()
    return guarded("stages", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Both tables. Raises InputError for a bundle without a calibration, or for sets of different candidates."""
    calibration = Calibration.from_dict(open_bundle(arguments.bundle).relevance)
    whole, first = Dataset.load(arguments.whole), Dataset.load(arguments.first)
    if not np.array_equal(whole.documents, first.documents):
        raise InputError("--whole and --first have different candidates; score the same questions with both.")
    show("read to the end", whole, list(read_on(calibration, whole, first, arguments.read_on)))
    if arguments.long:
        long = Dataset.load(arguments.long)
        show("read to the exit", long, list(read(calibration, long, arguments.read)))
    return 0


@dataclass(frozen=True, slots=True)
class System:
    """A name, and log-odds of all documents (D,) and sentences (N,); -inf for a sentence that was not read."""

    name: str
    documents: F64
    sentences: F64


def read_on(calibration: Calibration, whole: Dataset, first: Dataset, counts: list[int]) -> Iterator[System]:
    """All documents read to the end, none, and the best N at the exit."""
    end, at_exit = log_odds(calibration, whole), log_odds(calibration, first)
    ranks = within_question(first, at_exit.documents)
    yield System("all", end.documents, end.sentences)
    for count in (*sorted(counts, reverse=True), 0):
        in_part = ranks >= count
        of_sentences = in_part[first.columns.document_of]
        documents = np.where(in_part, at_exit.documents, end.documents)
        yield System(f"the best {count}", documents, np.where(of_sentences, at_exit.sentences, end.sentences))


def read(calibration: Calibration, scored: Dataset, counts: list[int]) -> Iterator[System]:
    """All documents read, and the best N by words."""
    ranks = within_question(scored, scored.columns.document(calibration.weights.context))
    for name, unread in [("all", ranks < 0), *((f"the best {n}", ranks >= n) for n in sorted(counts, reverse=True))]:
        blended = log_odds(calibration, scored, unread)
        sentences = np.where(unread[scored.columns.document_of], -np.inf, blended.sentences)
        yield System(name, blended.documents, sentences)


def log_odds(calibration: Calibration, scored: Dataset, unread: Bool | None = None) -> Blend:
    """The blend of a set, whose flags say how far its documents were read, on the scale of log-odds."""
    none = np.zeros(len(scored.documents), bool)
    return calibration.log_odds(
        scored.columns, np.asarray(scored.documents_in_part), none if unread is None else unread
    )


def within_question(scored: Dataset, scores: F64) -> I64:
    """The rank (D,) of each document among its question's, 0 for the highest score."""
    order = np.lexsort((-scores, scored.columns.query_of))
    ranks = np.empty(len(scores), np.int64)
    ranks[order] = np.arange(len(scores)) - np.searchsorted(scored.columns.query_of, scored.columns.query_of)
    return ranks


def show(title: str, scored: Dataset, systems: list[System]) -> None:
    """Print a table of systems, each compared with the first."""
    measured = [measure(scored, system) for system in systems]
    rows = []
    for system, values in zip(systems, measured, strict=True):
        row = [system.name]
        for mine, others in zip(values, measured[0], strict=True):
            low, high = bootstrap_interval(mine - others)
            row += [f"{np.mean(mine):.4f}", f"{np.mean(mine - others):+.4f}", f"{low:+.4f} to {high:+.4f}"]
        rows.append(row)
    print(f"\n{title}: {len(scored.questions)} questions\n")
    print(tabulate(rows, HEADS, tablefmt="github", disable_numparse=True))


def measure(scored: Dataset, system: System) -> tuple[F64, F64]:
    """The average precision of documents (Q,), and of sentences for the questions that have relevant ones."""
    columns, judged = scored.columns, judge(scored)
    documents, sentences = [], []
    for number, question in enumerate(scored.questions):
        rows = np.flatnonzero(columns.query_of == number)
        gold = min(DEPTH, len(question.documents or ()))
        documents.append(average_precision(system.documents[rows], judged.relevant[rows], gold, DEPTH))
        rows = np.flatnonzero(columns.query_of[columns.document_of] == number)
        if total := int(judged.overlaps[rows].sum()):
            sentences.append(average_precision(system.sentences[rows], judged.overlaps[rows], total, len(rows)))
    return np.array(documents), np.array(sentences)


def average_precision(scores: F64, relevant: Bool, total: int, depth: int) -> float:
    """The average precision of the first `depth` by score; what has -inf is not among them."""
    order = np.argsort(-scores, kind="stable")[:depth]
    hits = relevant[order] & np.isfinite(scores[order])
    return float((hits * np.cumsum(hits) / np.arange(1, len(hits) + 1)).sum() / max(1, total))


if __name__ == "__main__":
    sys.exit(main())
