"""Evaluate sentence ranking within a question's gold documents: gold sentences should come first.

    python -m experiments.ranking.sentences --data DATA --split dev

For every question of the split with a gold document among the abstracts, all sentences of those documents (titles
included) are ranked. A sentence is relevant if it contains a gold snippet of the question or is contained in one. The
script prints MAP with its bootstrap interval for BM25, each perspective and the blend, and the p-value of a paired
randomisation test of the blend against each of the others. `test` is for reporting, once.

The abstracts' titles often end in a truncated heading, so one in twenty of these sentences (test: one in thirteen) is a
fragment such as "B", which every snippet contains. With --words, fragments are not relevant, and whole words are
compared.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tabulate import tabulate

from experiments.common.significance import p_against
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.model_options import add_model_options, load_reranker, model_arguments
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.bioasq.task import systems
from mpir.core.candidates import Candidates
from mpir.core.text import Document, Question
from mpir.core.text.characters import normalise
from mpir.errors import InputError
from mpir.evaluate import bootstrap_interval
from mpir.files.corpora import read_jsonl, read_questions
from mpir.files.read import read_json
from mpir.files.write import write_json
from mpir.lab.gold_sentences import is_gold
from mpir.lab.train.leakage import EvaluationQuestions
from mpir.reranking.reranker import Reranker

LONG = 20
"""Minimum characters of a sentence, to exclude fragments."""
BATCHES = {"dev": ("5B",), "test": ("6B", "7B", "11B1", "11B2"), "untouched": ("6B", "7B")}
"""Golden files of each split. `untouched` served no choice; of `test`, 11B was in sight of one."""


def main() -> int:
    """Score, rank, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/ and pubmed/")
    parser.add_argument("--split", choices=sorted(BATCHES), default="dev", help="default: dev")
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N questions")
    parser.add_argument("--words", action="store_true", help="relevant are whole words of 20 characters or more")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    add_model_options(parser)
    arguments = parser.parse_args()
    return guarded("sentences", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole measurement."""
    check_figures(arguments)
    reranker = load_reranker(model_arguments(arguments))
    scored = scored_gold(reranker, arguments.data, arguments.split, words=arguments.words, limit=arguments.limit)
    if not scored:
        raise InputError(
            f"{arguments.data}: the documents of the first {arguments.limit} questions of {arguments.split} have no "
            "relevant sentence; raise --limit."
        )
    figures = {
        system.name: np.array([average_precision(system.scores(ranking)[1], label) for ranking, label in scored])
        for system in systems(reranker.weights)
    }
    sentences = sum(len(label) for _, label in scored)
    print(
        f"{arguments.split}: {len(scored)} questions, {sentences} sentences, "
        f"{sum(x.sum() for _, x in scored)} relevant\n"
    )
    rows = table(figures)
    print(tabulate(rows, ["", "MAP", "95 % interval", "p against the blend (Holm)"], floatfmt=".4f"))
    if arguments.json:
        write_json(arguments.json, {"split": arguments.split, "questions": len(scored), "map": means(figures)})
    return 0


def scored_gold(
    reranker: Reranker, data: Path, split: str, *, words: bool = False, limit: int | None = None
) -> list[tuple[Candidates, npt.NDArray[np.bool_]]]:
    """A split's questions with the sentences of their gold documents, scored, and which (N,) of these are relevant.

    A question of which no sentence is relevant is left out.

    Raises:
        InputError: the reranker has a cascade.
    """
    check_whole(reranker)
    questions = gold_questions(data, split)[:limit]
    documents = known_documents(data, questions)
    scored = reranker.score([q.body for q in questions], documents, progress=sys.stderr.isatty())
    labels = [relevant(question, ranking, words=words) for question, ranking in zip(questions, scored, strict=True)]
    return [(ranking, label) for ranking, label in zip(scored, labels, strict=True) if label.any()]


def check_whole(reranker: Reranker) -> None:
    """Raise InputError for a cascade: average precision would be divided by the gold sentences that it leaves."""
    if reranker.run.cascade != "all":
        raise InputError(
            f"--cascade {reranker.run.cascade}: the evaluation counts every gold sentence, and a cascade "
            "leaves some out; measure it with --cascade all."
        )


def gold_questions(data: Path, split: str) -> list[Question]:
    """The questions of the split's gold files, but for those that repeat a `train` question word for word."""
    splits = read_json(data / "bioasq/splits.json")
    train, ids = set(splits["train"]), set(splits["dev" if split == "dev" else "test"])
    trained = EvaluationQuestions(
        (question.id, question.body)
        for question in read_questions(data / "bioasq/training.json")
        if question.id in train
    )
    paths = [path for name in BATCHES[split] for path in sorted((data / "bioasq").glob(f"{name}*_golden.json"))]
    questions = [question for path in paths for question in read_questions(path) if question.id in ids]
    return [question for question in questions if not trained.holds(question.id, question.body)]


def known_documents(data: Path, questions: list[Question]) -> list[list[Document]]:
    """For each question, its gold documents whose abstract is at hand."""
    wanted_ids = {name for question in questions for name in question.documents or ()}
    known = {d.id: d for d in read_jsonl(data / "pubmed/abstracts.jsonl") if d.id in wanted_ids}
    return [[known[name] for name in question.documents or () if name in known] for question in questions]


def with_gold(questions: Sequence[Question], held: set[str]) -> list[Question]:
    """The questions with only the gold that is at hand, without those that keep none."""
    questions_kept = []
    for question in questions:
        documents = tuple(name for name in question.documents or () if name in held)
        snippets = tuple(snippet for snippet in question.snippets or () if snippet.document in held)
        if documents:
            questions_kept.append(replace(question, documents=documents, snippets=snippets))
    return questions_kept


def relevant(question: Question, scored: Candidates, *, words: bool = False) -> npt.NDArray[np.bool_]:
    """Which sentences (N,) a gold snippet of the question contains, or is contained in; `words` as in --words."""
    if words:
        normal = [normalise(snippet.text) for snippet in question.snippets or ()]
        return np.array([len(s.text) >= LONG and is_gold(s.text, normal) for s in scored.sentences], bool)
    snippets = [" ".join(snippet.text.split()) for snippet in question.snippets or ()]
    texts = [" ".join(sentence.text.split()) for sentence in scored.sentences]
    return np.array([any(text in snippet or snippet in text for snippet in snippets) for text in texts], bool)


def average_precision(scores: npt.NDArray[np.floating[Any]], labels: npt.NDArray[np.bool_]) -> float:
    """Average precision of the labels ranked by score; equal scores keep their order."""
    ranks = np.flatnonzero(labels[np.argsort(-scores, kind="stable")]) + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).mean())


def means(figures: dict[str, npt.NDArray[np.float64]]) -> dict[str, float]:
    """The mean of every system's figures."""
    return {name: float(values.mean()) for name, values in figures.items()}


def table(figures: dict[str, npt.NDArray[np.float64]]) -> list[list[object]]:
    """A row for each system: mean, interval, and the corrected p-value of its difference from the blend."""
    p_values = p_against(figures, "blend")
    rows: list[list[object]] = []
    for name, values in figures.items():
        low, high = bootstrap_interval(values)
        p = f"{p_values[name]:.4f}" if name in p_values else ""
        rows.append([name, float(values.mean()), f"{low:.4f} to {high:.4f}", p])
    return rows


if __name__ == "__main__":
    sys.exit(main())
