"""Add a teacher's outputs of documents to rows for the training of a model that reads whole documents.

    python data_scripts/document_teacher.py --rows runs/documents/documents.train.jsonl.gz \\
        --bundle runs/teacher/bundle --columns document - --output runs/documents/taught.train.jsonl.gz

`--columns` names a perspective of documents of the bundle for each of the mixture's document outputs, or "-" for an
output that keeps the value it has in the rows. Scores of the scale "probability" become logits, others stay as they
are. mpir/lab/train/document_mixture.py describes the rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from document_rows import are_rows, write
from scipy.special import logit

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path
from mpir.core.text.types import QueryDocument
from mpir.errors import InputError, format_names, format_value
from mpir.files.output_checks import Output, check_outputs
from mpir.files.read import read_json_lines
from mpir.lab.train.document_mixture import read_document_rows
from mpir.models.perspectives import Perspective, open_bundle
from mpir.models.perspectives.scoring import score_documents
from mpir.types import F64

KEPT = "-"
SMALLEST = 1e-6
"""The smallest probability, and distance from 1, that becomes a logit."""


def main() -> int:
    """Read, score, write."""
    parser = script_parser(__doc__)
    parser.add_argument("--rows", type=file_path, required=True, help="the rows to teach")
    parser.add_argument("--bundle", type=text_path, required=True, metavar="DIR|NAME")
    parser.add_argument("--columns", nargs="+", required=True, metavar="NAME|-", help="one for each document output")
    parser.add_argument("--output", type=file_path, required=True, help="the new rows")
    parser.add_argument("--device", default="auto")
    return guarded("document_teacher", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """The whole job."""
    check_outputs([Output("--output", arguments.output, are_rows)], [("--rows", arguments.rows)])
    perspectives = open_bundle(arguments.bundle).perspectives(device=arguments.device)
    named = {perspective.name: perspective for perspective in perspectives if perspective.level == "document"}
    for name in arguments.columns:
        if name != KEPT and name not in named:
            raise InputError(
                f"--columns: invalid name (got {format_value(name)}, expected {format_names([*named, KEPT])}). "
                "Correct it."
            )
    chosen = [None if name == KEPT else named[name] for name in arguments.columns]
    write(arguments.output, taught_rows(arguments.rows, chosen))
    print(f"{arguments.output}: taught by {arguments.bundle}")
    return 0


def taught_rows(path: Path, columns: Sequence[Perspective | None]) -> Iterator[dict[str, Any]]:
    """Yield the rows with the outputs of each column that is not None."""
    read_document_rows(path, 0, len(columns))
    perspectives = [perspective for perspective in columns if perspective is not None]
    for _, row in read_json_lines(path):
        values = iter(document_values(row, perspectives).T)
        known = [item.get("document_teacher") or [None] * len(columns) for item in row["documents"]]
        outputs = [
            [old[number] for old in known] if perspective is None else next(values).tolist()
            for number, perspective in enumerate(columns)
        ]
        documents = [
            {**item, "document_teacher": list(numbers)}
            for item, numbers in zip(row["documents"], zip(*outputs, strict=True), strict=True)
        ]
        yield {**row, "documents": documents}


def document_values(row: dict[str, Any], perspectives: Sequence[Perspective]) -> F64:
    """Raw outputs (D, P) of a row's documents."""
    texts = [tuple(item["sentences"]) for item in row["documents"]]
    documents = [QueryDocument(row["question"], sentences, " ".join(sentences)) for sentences in texts]
    scored = score_documents(perspectives, documents)
    values = scored.values[scored.starts]
    is_probability = [perspective.scale == "probability" for perspective in perspectives]
    return np.where(is_probability, logit(values.clip(SMALLEST, 1 - SMALLEST)), values).round(4)


if __name__ == "__main__":
    sys.exit(main())
