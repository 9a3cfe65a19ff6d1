"""What the columns of some bundles know of the same candidates, where some read documents and others only sentences.

    python -m experiments.training.document_readers --rows runs/documents/documents.dev.jsonl.gz \\
        --bundles default runs/documents/bundle

The rows are those that data_scripts/document_rows.py writes. For each column, the table has the mean average precision
of documents, by their own score or that of their best sentence, and of the sentences of relevant documents, with
seconds of processor time. Columns of one model are read together, so their seconds are the model's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tabulate import tabulate

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path
from mpir.core.text.types import QueryDocument
from mpir.lab.train.document_mixture import TrainingQuestion, read_document_rows
from mpir.lab.train.examples import Example
from mpir.lab.train.losses import mean_average_precision
from mpir.models.perspectives import Perspective, open_bundle
from mpir.models.perspectives.base import group_by_model
from mpir.models.perspectives.scoring import score_documents
from mpir.types import F64


def main() -> int:
    """Read arguments, measure and print."""
    parser = script_parser(__doc__)
    parser.add_argument("--rows", type=file_path, required=True, help="questions with labelled candidates")
    parser.add_argument("--bundles", type=text_path, nargs="+", required=True, metavar="DIR|NAME")
    parser.add_argument("--precision", default="auto", help="auto, fp32, bf16 or fp16 (%(default)s)")
    arguments = parser.parse_args()
    return guarded("document_readers", lambda: run(arguments.rows, arguments.bundles, arguments.precision))


def run(rows: Path, bundles: Sequence[str], precision: str) -> int:
    """The whole table."""
    questions = read_document_rows(rows, 0)
    table = [line for bundle in bundles for line in lines_of(bundle, questions, precision)]
    print(tabulate(table, ["bundle", "column", "documents", "sentences", "seconds"], floatfmt=".4f"))
    return 0


def lines_of(bundle: str, questions: Sequence[TrainingQuestion], precision: str) -> list[list[object]]:
    """One line for each column of a bundle."""
    perspectives = open_bundle(bundle).perspectives(precision=precision)
    lines = list[list[object]]()
    for numbers in group_by_model(perspectives):
        chosen = [perspectives[number] for number in numbers]
        begin = time.process_time()
        values = scores(chosen, questions)
        seconds = time.process_time() - begin
        for perspective, column in zip(chosen, values.T, strict=True):
            lines.append([bundle, perspective.name, *measures(perspective, column, questions), seconds])
    return lines


def scores(perspectives: Sequence[Perspective], questions: Sequence[TrainingQuestion]) -> F64:
    """The scores (S, P) of all sentences; by perspectives of documents, each has its document's."""
    documents = [
        QueryDocument(row.question, item.sentences, " ".join(item.sentences))
        for row in questions
        for item in row.documents
    ]
    scored = score_documents(perspectives, documents)
    document_of = np.repeat(np.arange(len(documents)), [len(document.sentences) for document in documents])
    rows = {"document": scored.starts[document_of], "sentence": scored.rows("sentence")}
    columns = [scored.values[rows[perspective.level], number] for number, perspective in enumerate(perspectives)]
    return np.column_stack(columns)


def measures(
    perspective: Perspective, values: F64, questions: Sequence[TrainingQuestion]
) -> tuple[float, float | None]:
    """Mean average precision of documents, and of the sentences of relevant ones, None for a column of documents."""
    documents, sentences = list[tuple[Example, float]](), list[tuple[Example, float]]()
    ends = np.cumsum([len(item.sentences) for row in questions for item in row.documents])
    pieces = iter(np.split(values, ends[:-1]))
    for row in questions:
        for item in row.documents:
            piece = next(pieces)
            if item.label is not None:
                documents.append((_example(row, item.label), float(piece.max())))
            if item.gold is not None:
                sentences += [
                    (_example(row, gold), value) for gold, value in zip(item.gold.tolist(), piece, strict=True)
                ]
    return _precision(documents), _precision(sentences) if perspective.level == "sentence" else None


def _example(row: TrainingQuestion, label: float) -> Example:
    return Example(group=row.id, question=row.question, sentence="", label=label)


def _precision(rated: Sequence[tuple[Example, float]]) -> float:
    return mean_average_precision([example for example, _ in rated], np.array([value for _, value in rated]))


if __name__ == "__main__":
    sys.exit(main())
