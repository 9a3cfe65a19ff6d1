"""Quality over seconds: what a ranking is worth that has to answer in time, and whether it does.

    mpir score --questions 5B?_golden.json --index INDEX --set score.gold_in_index=true --k 30 --output runs/whole
    python -m experiments.ranking.deadline --scored runs/whole --corpus abstracts.jsonl --limit 40

The questions and candidates are those of a scored set; nothing is taken from its scores. For each number of seconds the
table has the MAP of the first ten documents by gold, the share of documents that were not read and that were read to
the first exit only, and the longest time that an answer took, divided by the time that it had.
"""

from __future__ import annotations

import argparse
import sys
from time import monotonic

import numpy as np
from tabulate import tabulate

from experiments.ranking.stages import DEPTH, average_precision
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, positive, text_path
from mpir.core.text import Document, Question
from mpir.files.corpora import read_jsonl
from mpir.reranking.reranker import Reranker
from mpir.tune.dataset import Dataset


def main() -> int:
    """Read arguments, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--scored", type=file_path, required=True, help="questions that `mpir score` scored")
    parser.add_argument("--corpus", type=file_path, required=True, help="the texts of their candidates")
    parser.add_argument("--bundle", type=text_path, default="default", help="(default: default)")
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N questions")
    parser.add_argument("--seconds", nargs="+", type=float, default=[0.05, 0.1, 0.2, 0.4, 0.8, 1.6], metavar="S")
    arguments = parser.parse_args()
    return guarded("deadline", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """One row for each number of seconds."""
    scored = Dataset.load(arguments.scored)
    texts = {document.id: document for document in read_jsonl(arguments.corpus)}
    asked = []
    for number, question in enumerate(scored.questions[: arguments.limit]):
        rows = scored.columns.query_of == number
        asked.append((question, [texts[str(name)] for name in scored.documents[rows]]))
    reranker = Reranker(arguments.bundle, device="cpu")
    reranker.rerank(asked[0][0].body, asked[0][1])  # loads the model
    table = [row(reranker, asked, seconds) for seconds in sorted(arguments.seconds)]
    heads = ("seconds", "document MAP", "not read", "read in part", "longest answer / time")
    print(f"{len(asked)} questions\n\n{tabulate(table, heads, tablefmt='github', disable_numparse=True)}")
    return 0


def row(reranker: Reranker, asked: list[tuple[Question, list[Document]]], seconds: float) -> list[str]:
    """The figures for one number of seconds."""
    precision, unread, in_part, late = [], [], [], []
    for question, documents in asked:
        begin = monotonic()
        ranking = reranker.rerank(question.body, documents, within=seconds)
        late.append((monotonic() - begin) / seconds)
        gold = set(question.documents or ())
        relevant = np.array([str(document.id) in gold for document in ranking], bool)
        order = -np.arange(len(relevant), dtype=np.float64)
        precision.append(average_precision(order, relevant, min(DEPTH, len(gold)), DEPTH))
        unread.append(np.mean([document.left_out for document in ranking]))
        in_part.append(np.mean([document.in_part for document in ranking]))
    means = (f"{np.mean(values):.4f}" for values in (precision, unread, in_part))
    return [f"{seconds:g}", *means, f"{max(late):.2f}"]


if __name__ == "__main__":
    sys.exit(main())
