"""The array objective against reranking and evaluating question by question with the package's public functions.

    python benchmarks/objective.py --json objective.json

All compute the snippet MAP of the same random weights over 500 questions × 10 documents × 10 sentences × 4 columns, in
the same run, on one thread; their values must be equal. Seconds are processor time, which a busy machine affects less.
`ratio` compares with reranking through the public API, `ratio_to_answering` with the leanest way to go question by
question.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.bioasq.measures import evaluate
from mpir.bioasq.task import System, answer
from mpir.core.candidates import Candidates
from mpir.core.columns import Columns, Layout
from mpir.core.text import Document, Question, Sentence, Snippet
from mpir.core.weights import Weights
from mpir.files.write import write_json
from mpir.reranking.prepare import unscored_candidates
from mpir.reranking.present import rank
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from mpir.tune.space import Space

DOCUMENTS, SENTENCES = 10, 10
NAMES = ("a", "b", "c", "d")
Pairs = list[tuple[Question, Candidates]]


def main() -> int:
    """Measure both, print and write."""
    parser = script_parser(__doc__)
    parser.add_argument("--questions", type=positive, default=500)
    parser.add_argument("--evaluations", type=positive, default=200, help="of the array objective")
    parser.add_argument("--one-by-one", type=positive, default=3, help="evaluations question by question")
    parser.add_argument("--measure", default="snippet-map", choices=["snippet-map", "document-map"])
    parser.add_argument("--json", type=file_path, metavar="FILE", help="write the figures")
    arguments = parser.parse_args()
    check_figures(arguments)
    pairs = make_questions(arguments.questions)
    scored = Dataset.collect(pairs)
    objective, space = Objective(scored, arguments.measure), Space.of(scored.columns)
    points = np.random.default_rng(1).random((arguments.evaluations, space.dimensions))
    weights = [space.weights(point) for point in points]
    array_seconds, array_values = timed(objective, weights)
    few, seconds = weights[: arguments.one_by_one], {}
    for name, function in (("reranking", by_reranking), ("answering", by_answering)):
        seconds[name], values = timed(
            lambda setting, function=function: function(pairs, setting, arguments.measure), few
        )
        np.testing.assert_allclose(array_values[: len(few)], values, rtol=0, atol=1e-9)
    figures = {
        "evaluations_per_second": 1 / array_seconds,
        "reranking_per_second": 1 / seconds["reranking"],
        "answering_per_second": 1 / seconds["answering"],
        "ratio": seconds["reranking"] / array_seconds,
        "ratio_to_answering": seconds["answering"] / array_seconds,
    }
    print(", ".join(f"{name} {value:,.1f}" for name, value in figures.items()))
    if arguments.json:
        write_json(arguments.json, figures)
    return 0


def timed(function: Callable[[Weights], float], weights: Sequence[Weights]) -> tuple[float, list[float]]:
    """Median processor seconds of a call, and the values, after one call to warm up."""
    function(weights[0])
    seconds, values = [], []
    for setting in weights:
        start = time.process_time()
        values.append(function(setting))
        seconds.append(time.process_time() - start)
    return float(np.median(seconds)), values


def by_reranking(pairs: Pairs, weights: Weights, measure: str) -> float:
    """Rerank and measure question by question: what `Reranker.rerank` does with scores at hand, and `evaluate`."""
    level, figures = measure.removesuffix("-map") + "s", []
    for question, scored in pairs:
        ranking = rank(scored, weights, top_k=10)
        snippets = tuple(
            Snippet(
                document=s.document,
                begin_section=s.section,
                end_section=s.section,
                begin=s.begin,
                end=s.end,
                text=s.text,
            )
            for s in ranking.sentences[:10]
        )
        answered = replace(question, documents=tuple(d.id for d in ranking.documents), snippets=snippets)
        figures.append(evaluate([question], [answered])[level]["map"])
    return float(np.mean(figures))


def by_answering(pairs: Pairs, weights: Weights, measure: str) -> float:
    """Measure all questions in one call, computing only what a submission needs."""
    system = System("blend", weights)
    submission = [answer(question, scored, system) for question, scored in pairs]
    return evaluate([question for question, _ in pairs], submission)[measure.removesuffix("-map") + "s"]["map"]


def make_questions(count: int) -> Pairs:
    """Random questions whose sentences are 90 characters long, a tenth of the documents gold with two snippets."""
    generator = np.random.default_rng(0)
    return [one_question(generator, number) for number in range(count)]


def one_question(generator: np.random.Generator, number: int) -> tuple[Question, Candidates]:
    """One question with its candidates, their sentences and scores."""
    documents = tuple(
        Document(f"{number}-{i}", "", "x" * 1000, score=float(generator.random() * 20)) for i in range(DOCUMENTS)
    )
    offsets = [(document, 100 * i) for document in documents for i in range(SENTENCES)]
    sentences = tuple(
        Sentence(document=d.id, section="abstract", begin=begin, end=begin + 90, text=d.abstract[:90])
        for d, begin in offsets
    )
    columns = Columns(
        layout=Layout.of(("bm25",), NAMES),
        documents=np.array([[document.score] for document in documents]),
        sentences=generator.random((len(sentences), len(NAMES))),
        query_of=np.zeros(DOCUMENTS, np.int64),
        document_of=np.repeat(np.arange(DOCUMENTS), SENTENCES),
    )
    gold = [documents[i].id for i in generator.choice(DOCUMENTS, 2, replace=False)]
    begins = generator.integers(0, 800, len(gold)).tolist()
    snippets = tuple(
        Snippet(document=name, begin_section="abstract", end_section="abstract", begin=begin, end=begin + 150, text="x")
        for name, begin in zip(gold, begins, strict=True)
    )
    scored = unscored_candidates(
        f"q{number}", documents, sentences=sentences, columns=columns, lexical=np.zeros(len(sentences))
    )
    return Question(f"q{number}", "?", type="list", documents=tuple(gold), snippets=snippets), scored


if __name__ == "__main__":
    sys.exit(guarded("objective", main))
