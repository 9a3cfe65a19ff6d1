"""When does agreement (mpir/models/perspectives/agreement.py) help? Variants of it on scored questions.

    python -m experiments.ranking.agreement --scored runs/cascade/dev --corpus DATA/pubmed/abstracts.jsonl

Scores come from `mpir score`; only agreement is recomputed, so no model runs. All variants use the bundle's weights,
with agreement's weight rescaled to stay constant in standard deviations. The script prints document MAP, sentence MAP
and snippet F1 for several numbers of documents considered, and with agreement also in the document score; then the same
by the number of a question's gold documents. p is from a paired randomisation test against no agreement.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from tabulate import tabulate

from experiments.cascade.words import choose_weights
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path
from mpir.core.columns import Layout
from mpir.core.weights import Weights
from mpir.errors import InputError
from mpir.evaluate import randomisation_test
from mpir.files.corpora import read_corpus
from mpir.models.perspectives import open_bundle
from mpir.models.perspectives.agreement import HEARD, Agreement, agreement
from mpir.tune.dataset import Dataset
from mpir.tune.measures import MEASURES
from mpir.tune.objective import Objective
from mpir.types import F64, I64

AGREEMENT = Agreement.name
COUNTS = (1, 3, 5, 10, 20, None)
SHOWN = ("document-map", "sentence-map", "snippet-f1")
GOLD = ((1, 1), (2, 4), (5, sys.maxsize))
IN_DOCUMENTS = "agreement, in documents too"
Figures = dict[str, F64]
QuestionRows = tuple[slice, list[str], I64, F64]


def main() -> int:
    """Read, compute, print."""
    parser = script_parser(__doc__)
    parser.add_argument(
        "--scored", type=file_path, required=True, help="folder of `mpir score`, with the column agreement"
    )
    parser.add_argument(
        "--corpus", type=text_path, nargs="+", required=True, metavar="PATH", help="the documents that were indexed"
    )
    parser.add_argument("--bundle", type=text_path, default="default", help="the bundle that scored them (%(default)s)")
    parser.add_argument("--weights", type=text_path, help="weights instead of the bundle's: a file, or equal")
    arguments = parser.parse_args()
    return guarded("agreement", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole experiment."""
    scored, bundle = Dataset.load(arguments.scored), open_bundle(arguments.bundle)
    if AGREEMENT not in scored.columns.layout.sentences or bundle.agreement is None:
        raise InputError(f"{arguments.scored}: has no column {AGREEMENT!r}; score with a bundle that declares it.")
    weights = choose_weights(arguments, scored)
    if not weights.alpha[AGREEMENT]:
        raise InputError(
            f"the weights weigh {AGREEMENT!r} 0, so there is nothing to compare; tune some with mpir tune."
        )
    questions = list(by_question(scored, texts(scored, arguments.corpus)))
    relevance = scored.columns.sentence(bundle.agreement)
    columns = {count: column(scored, questions, relevance, count) for count in COUNTS}
    unit = weights.alpha[AGREEMENT] * columns[HEARD].std()
    figures_of = {"no agreement": figures(scored, replace(weights, alpha={**weights.alpha, AGREEMENT: 0.0}))}
    for count, values in columns.items():
        alpha = {**weights.alpha, AGREEMENT: unit / (values.std() or 1.0)}
        name = f"{count} documents heard" if count else "all heard"
        figures_of[name] = figures(with_column(scored, values, AGREEMENT), replace(weights, alpha=alpha))
    alpha = {IN_DOCUMENTS if name == AGREEMENT else name: value for name, value in weights.alpha.items()}
    inside = with_column(scored, columns[HEARD], IN_DOCUMENTS)
    figures_of[IN_DOCUMENTS] = figures(inside, replace(weights, alpha=alpha))
    print(tabulate(overall(figures_of), ["", *SHOWN], tablefmt="github", disable_numparse=True), end="\n\n")
    chosen = ("no agreement", f"{HEARD} documents heard", IN_DOCUMENTS)
    gold = np.array([len(question.documents or ()) for question in scored.questions])
    rows = [row for name in chosen for row in by_gold(name, figures_of[name], figures_of["no agreement"], gold)]
    print(tabulate(rows, ["", "gold documents", "questions", *SHOWN], tablefmt="github", disable_numparse=True))
    return 0


def texts(scored: Dataset, corpus: list[str]) -> list[str]:
    """The text of every sentence. Raises InputError where the corpus lacks a document."""
    document_ids = set(scored.documents.tolist())
    known = {document.id: document.sections for document in read_corpus(corpus) if document.id in document_ids}
    if missing := document_ids - set(known):
        raise InputError(f"--corpus: {len(missing)} candidates are not in it, such as {min(missing)}; give all of it.")
    spans = zip(scored.columns.document_of, scored.sections, scored.begin, scored.end, strict=True)
    return [known[scored.documents[of]][section][begin:end] for of, section, begin, end in spans]


def by_question(scored: Dataset, sentences: list[str]) -> Iterator[QuestionRows]:
    """For each question: its sentences' rows and texts, their documents counted from 0, and scores of these."""
    columns, numbers = scored.columns, np.arange(len(scored.questions) + 1)
    documents = columns.query_of.searchsorted(numbers)
    rows = columns.document_of.searchsorted(documents)
    for question in numbers[:-1]:
        first, last = documents[question : question + 2]
        rows_of = slice(*map(int, rows[question : question + 2]))
        yield (
            rows_of,
            sentences[rows_of],
            columns.document_of[rows_of] - first,
            np.asarray(columns.first_stage[first:last]),
        )


def column(scored: Dataset, questions: list[QuestionRows], relevance: F64, heard: int | None) -> F64:
    """Agreement (N,) with so many documents."""
    values = np.zeros(len(scored.begin))
    for rows_of, said, document_of, bm25 in questions:
        values[rows_of] = agreement(said, document_of, bm25, np.asarray(relevance[rows_of]), heard=heard)
    return values


def with_column(scored: Dataset, values: F64, name: str) -> Dataset:
    """The set with other values, and perhaps another name, in the place of agreement."""
    layout = scored.columns.layout
    number = layout.sentences.index(AGREEMENT)
    scores = np.array(scored.columns.sentences)
    scores[:, number] = values
    column = layout.columns[len(layout.documents) + number]
    changed = replace(column, name=name, role=column.role if name == AGREEMENT else "evidence")
    columns = [changed if existing is column else existing for existing in layout.columns]
    layout = Layout(tuple(columns))
    return replace(scored, columns=replace(scored.columns, layout=layout, sentences=scores))


def figures(scored: Dataset, weights: Weights) -> Figures:
    """Return the reported values of each question (Q,)."""
    answers = Objective(scored).answers(weights)
    return {name: MEASURES[name](answers, 8) for name in SHOWN}


def overall(figures_of: dict[str, Figures]) -> list[list[str]]:
    """A row for each variant, against the first."""
    base = next(iter(figures_of.values()))
    return [[name, *cells(figures_of_name, base)] for name, figures_of_name in figures_of.items()]


def by_gold(name: str, figures_of_name: Figures, base: Figures, gold: I64) -> Iterator[list[str]]:
    """A row for each range of gold documents among the candidates' corpus."""
    for low, high in GOLD:
        of = (gold >= low) & (gold <= high)
        span = f"{low}" if low == high else f"{low} to {high}" if high < sys.maxsize else f"{low} or more"
        if of.any():
            yield [name, span, str(of.sum()), *cells(figures_of_name, base, of)]


def cells(figures_of_name: Figures, base: Figures, of: slice | npt.NDArray[np.bool_] = slice(None)) -> Iterator[str]:
    """The mean of each measure over some questions and, but for the base itself, p against the base."""
    for measure, values in figures_of_name.items():
        pairs = np.stack([values[of], base[measure][of]])
        mine, theirs = pairs[:, ~np.isnan(pairs).any(axis=0)]
        yield f"{mine.mean():.4f}" + ("" if figures_of_name is base else f" (p {randomisation_test(mine, theirs):.4f})")


if __name__ == "__main__":
    sys.exit(main())
