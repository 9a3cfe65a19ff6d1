"""The loss of the adaptive cascade, which selects sentences by their words and embeds only the best documents.

    mpir score --questions 5B?_golden.json --index INDEX --set score.gold_in_index=true --k 100 \\
        --output runs/cascade/dev
    python -m experiments.cascade.adaptive --scored runs/cascade/dev

Like `experiments.cascade.words`, it removes scores from a scored set and blends the rest with the bundle's weights. A
row is a share of the sentences beyond the first 100, and a number of documents with vectors; `auto` is the setting of
`--cascade auto`. The script prints differences from scoring everything, with intervals.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
from tabulate import tabulate

from experiments.cascade.words import SHOWN, Curve, cell
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.core.blend import blend, document_order
from mpir.core.columns import Columns
from mpir.core.weights import Weights
from mpir.files.weights import read_weights
from mpir.files.write import write_json
from mpir.models.perspectives import open_bundle
from mpir.reranking.cascade import FEWEST, FURTHER, READ, most_promising, part_of, promise, with_lowest
from mpir.tune.dataset import Dataset
from mpir.types import F64, I64

SHARES, DOCUMENTS = (1.0, 0.5, FURTHER, 0.0), (100, 50, READ, 20, 10)


def main() -> int:
    """Read arguments, measure and print."""
    parser = script_parser(__doc__)
    parser.add_argument("--scored", type=file_path, required=True, help="folder that `mpir score` wrote")
    parser.add_argument("--bundle", type=text_path, default="default", help="whose weights blend (%(default)s)")
    parser.add_argument("--column", default="dense", help="document column that the best documents have (%(default)s)")
    parser.add_argument("--version", type=positive, default=9, help="of the official measures (%(default)s)")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="write the figures")
    arguments = parser.parse_args()
    return guarded("adaptive", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole table."""
    check_figures(arguments)
    scored = Dataset.load(arguments.scored)
    weights = read_weights(open_bundle(arguments.bundle).folder / "weights.json").align_to(scored.columns.layout)
    curve = Curve(scored, weights, arguments.version)
    rows, figures = [], []
    for share, count in product(SHARES, DOCUMENTS):
        sentences = chosen_sentences(scored, share)
        columns = with_vectors_of(scored.columns, weights, sentences, arguments.column, count)
        values = curve.measured(sentences, columns)
        lost = {name: (values[name] - curve.whole[name])[~np.isnan(curve.whole[name])] for name in SHOWN}
        label = " (auto)" if (share, count) == (FURTHER, READ) else ""
        pairs = len(sentences) / len(scored.begin)
        rows.append([f"{share:g}{label}", str(count), f"{pairs:.3f}", *map(cell, lost.values())])
        figures.append(fact(share, count, pairs, lost))
    heads = ["share beyond 100", "documents with vectors", "pairs scored", *SHOWN]
    print(tabulate(rows, heads, tablefmt="pipe", disable_numparse=True))
    if arguments.json:
        everything = {name: float(np.nanmean(values)) for name, values in curve.whole.items()}
        write_json(arguments.json, {"questions": len(scored.questions), "everything": everything, "rows": figures})
    return 0


def fact(share: float, count: int, pairs: float, lost: Mapping[str, F64]) -> dict[str, Any]:
    """A row of the table for a file."""
    means = {name: float(values.mean()) for name, values in lost.items()}
    return {"share": share, "documents": count, "pairs": pairs, **means}


def chosen_sentences(scored: Dataset, share: float) -> I64:
    """The sentences (ascending) that go on: of each query 100 and a share of the others."""
    columns, rows = scored.columns, []
    for first, last, start, end in query_ranges(columns):
        document_of = np.asarray(columns.document_of[start:end]) - first
        values = promise(
            np.asarray(scored.lexical[start:end]), np.asarray(columns.first_stage[first:last]), document_of
        )
        budget = FEWEST + part_of(share, max(0, end - start - FEWEST))
        rows.append(start + most_promising(values, document_of, budget))
    return np.concatenate(rows)


def with_vectors_of(columns: Columns, weights: Weights, sentences: I64, name: str, count: int) -> Columns:
    """The columns in which only the `count` best documents of each query have their value of the column `name`."""
    position = columns.layout.documents.index(name)
    without = replace(weights, beta={**weights.beta, name: 0.0})
    first = replace(columns, document_of=columns.document_of[sentences], sentences=columns.sentences[sentences])
    order = document_order(first, blend(first, without).documents)
    values = np.array(columns.documents)
    bounds = np.searchsorted(columns.query_of, np.arange(columns.query_of[-1] + 2))
    for low, high in pairwise(bounds):
        rows = order[low:high][:count]
        values[low:high, position] = with_lowest(values[rows, position], rows - low, high - low)
    return replace(columns, documents=values)


def query_ranges(columns: Columns) -> Iterator[tuple[int, int, int, int]]:
    """First and last document, first and last sentence (ends exclusive) of each query."""
    documents = np.searchsorted(columns.query_of, np.arange(columns.query_of[-1] + 2))
    sentences = np.searchsorted(columns.document_of, documents)
    for first, last, start, end in zip(documents, documents[1:], sentences, sentences[1:], strict=False):
        yield int(first), int(last), int(start), int(end)


if __name__ == "__main__":
    sys.exit(main())
