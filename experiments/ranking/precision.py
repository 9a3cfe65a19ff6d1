"""Does lower precision, or another format of the same models, change the answers?

    python -m experiments.ranking.precision --data DATA
    python -m experiments.ranking.precision --data DATA --bundles default my-int8-bundle --precisions fp32

Scores the pairs of the evaluation by sentences (sentences.py) with every bundle in every precision, and compares each
with the first, for each perspective and the blend: mean average precision, Kendall's τ-b of the sentences of a question
(mean and lowest over questions) and of all sentences together, and the largest difference of a score. Lower precision
is good enough if it stays within 0.002 MAP and at a mean τ of 0.99 or more.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.stats import kendalltau
from tabulate import tabulate

from experiments.ranking.sentences import BATCHES, average_precision, gold_questions, known_documents, relevant
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.bioasq.task import systems
from mpir.core.text import Document, Question
from mpir.errors import InputError, format_names
from mpir.files.write import write_json
from mpir.reranking.options import RunOptions
from mpir.reranking.reranker import Reranker
from mpir.types import Float

Judgements = list[npt.NDArray[np.bool_]]
View = Mapping[str, list[Float]]
"""Scores of the sentences (N,) of every question, by the system that gave them."""
HEADS = ("against the first", "system", "MAP", "difference", "tau mean", "tau lowest", "tau over all", "largest gap")


def main() -> int:
    """Score, compare, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/ and pubmed/")
    parser.add_argument("--split", choices=sorted(BATCHES), default="dev", help="default: dev")
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N questions")
    parser.add_argument(
        "--bundles", type=text_path, nargs="+", default=["default"], help="bundles to compare (default: default)"
    )
    parser.add_argument("--precisions", nargs="+", default=["fp32", "bf16"], help="precisions (default: fp32 bf16)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 … (default: auto)")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    return guarded("precision", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole measurement."""
    check_figures(arguments)
    variants = list(dict.fromkeys(product(arguments.bundles, arguments.precisions)))
    if len(variants) < 2:
        raise InputError(f"there is nothing to compare with {' '.join(variants[0])}; give another precision or bundle.")
    questions = gold_questions(arguments.data, arguments.split)[: arguments.limit]
    documents = known_documents(arguments.data, questions)
    views = []
    for bundle, precision in variants:
        reranker = Reranker(bundle, device=arguments.device, precision=precision, run=RunOptions(cascade="all"))
        view, labels = measure(reranker, questions, documents)
        views.append(view)
    rows = [
        row
        for variant, view in zip(variants[1:], views[1:], strict=True)
        for row in compare(variant, views[0], view, labels)
    ]
    sentences = sum(map(len, labels))
    print(f"{arguments.split}: {len(labels)} questions, {sentences} sentences; first: {' '.join(variants[0])}\n")
    print(tabulate(rows, HEADS, floatfmt=".4f"))
    if arguments.json:
        rows_as_dicts = [dict(zip(HEADS, row, strict=True)) for row in rows]
        write_json(arguments.json, {"split": arguments.split, "first": variants[0], "compared": rows_as_dicts})
    return 0


def measure(
    reranker: Reranker, questions: Sequence[Question], documents: Sequence[Sequence[Document]]
) -> tuple[View, Judgements]:
    """Each system's scores, and which sentences are relevant, for the questions that have relevant ones."""
    scored = reranker.score([q.body for q in questions], documents, progress=sys.stderr.isatty())
    pairs = [(ranking, relevant(question, ranking)) for question, ranking in zip(questions, scored, strict=True)]
    judged = [(ranking, label) for ranking, label in pairs if label.any()]
    compared = [system for system in systems(reranker.weights) if system.weights is not None]
    view = {system.name: [system.scores(ranking)[1] for ranking, _ in judged] for system in compared}
    return {name: values for name, values in view.items() if tells_apart(values)}, [label for _, label in judged]


def tells_apart(values: Sequence[Float]) -> bool:
    """Whether a system's scores order the sentences of any question; those of a column of documents do not."""
    return any(np.ptp(array) > 0 for array in values)


def compare(variant: tuple[str, str], first: View, second: View, labels: Judgements) -> Iterator[list[object]]:
    """A row of figures for each system. Raises InputError where the two have other systems."""
    if first.keys() != second.keys():
        raise InputError(
            f"{' '.join(variant)} has {format_names(second)}, but the first has {format_names(first)}; compare bundles "
            "of the same perspectives."
        )
    for name, expected in first.items():
        values = second[name]
        after, before = (mean_average_precision(values, labels) for values in (second[name], expected))
        mean, lowest, over_all = taus(expected, values)
        gap = max(float(np.abs(a - b).max()) for a, b in zip(expected, values, strict=True))
        yield [" ".join(variant), name, after, f"{after - before:+.4f}", mean, lowest, over_all, gap]


def mean_average_precision(values: Sequence[Float], labels: Judgements) -> float:
    """The mean over questions of average precision."""
    return float(np.mean([average_precision(ranking, label) for ranking, label in zip(values, labels, strict=True)]))


def taus(first: Sequence[Float], second: Sequence[Float]) -> tuple[float, float, float]:
    """Kendall's τ-b of two scorings of the same sentences: mean and lowest over questions, and over all sentences.

    A question whose sentences cannot be ordered (one sentence, or all of one score) does not count.
    """
    each = np.array([kendalltau(a, b).statistic for a, b in zip(first, second, strict=True) if len(a) > 1])
    over_all = kendalltau(np.concatenate(list(first)), np.concatenate(list(second))).statistic
    return float(np.nanmean(each)), float(np.nanmin(each)), float(over_all)


if __name__ == "__main__":
    sys.exit(main())
