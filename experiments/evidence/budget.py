"""How many answers do sentences within a budget of tokens hold? BioASQ's factoid and list questions, no language model.

    python -m experiments.evidence.budget --data DATA --set cache.folder=runs/calibration/cache

The candidates are the lists of 20 and 100 of `experiments.calibration.lists`, ranked by the bundle; with its cache no
model runs. Recall is the share of a question's answers of which a synonym occurs, as words, in the text within the
budget. Compared are `Ranking.evidence`, whole abstracts and first sentences in the order of the ranking, and the
candidates' best sentences by BM25. A row has the texts of all candidates. Intervals are 95 % bootstraps of the
difference to whole abstracts.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tabulate import tabulate

from experiments.calibration.lists import BATCHES, bioasq_lists
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.model_options import add_model_options, load_reranker, model_arguments
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.core.text import Document
from mpir.core.text.split import split
from mpir.errors import InputError
from mpir.evaluate import bootstrap_interval
from mpir.files.read import read_json
from mpir.files.write import write_json
from mpir.reranking.evidence import token_counter
from mpir.reranking.ranking import Ranking
from mpir.search.memory import bm25_scores

BUDGETS = (250, 500, 1000, 2000)
COUNT = token_counter(None)
ALL = "all candidates"


SMALLEST = 20
"""Candidates of the smallest list to use."""


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question with its candidates, and its answers, each with its synonyms."""

    query: str
    candidates: Sequence[Document]
    answers: Sequence[Sequence[str]]


def questions_of(data: Path, split_name: str, limit: int) -> list[AnsweredQuestion]:
    """The factoid and list questions that have a list of enough candidates, each with its largest one."""
    answers = dict(_answered(data, split_name))
    largest: dict[str, AnsweredQuestion] = {}
    for question, candidates in bioasq_lists(data, split_name, limit, 0):
        name = question.id.split("/")[0]
        if name in answers and len(candidates) >= SMALLEST:
            largest[name] = AnsweredQuestion(question.body, candidates, answers[name])
    return list(largest.values())


def _answered(data: Path, split_name: str) -> Iterator[tuple[str, list[list[str]]]]:
    """The ids and answers of a split's factoid and list questions."""
    for batch in BATCHES[split_name]:
        for path in sorted((data / "bioasq").glob(f"{batch}*_golden.json")):
            for question in read_json(path)["questions"]:
                if question["type"] in ("factoid", "list") and question.get("exact_answer"):
                    yield question["id"], _answers(question["exact_answer"], question["type"])


def _answers(exact: list[str] | list[list[str]], kind: str) -> list[list[str]]:
    """The answers with their synonyms; a factoid has one answer, whose synonyms may be one list or several."""
    groups = [[item] if isinstance(item, str) else list(item) for item in exact]
    return groups if kind == "list" else [[text for group in groups for text in group]]


def recall(question: AnsweredQuestion, text: str) -> float:
    """The share of the answers that the text names."""
    words = _words(text)
    return float(
        np.mean([any(_words(name) in words for name in names if _words(name).strip()) for names in question.answers])
    )


def _words(text: str) -> str:
    """The words of a text, with a space before and after each."""
    return " ".join(["", *re.findall(r"\w+", text.lower()), ""])


def abstracts(ranking: Ranking, budget: int) -> str:
    """Whole titles and abstracts in the order of the ranking, the last one cut."""
    return _within((f"{document.title} {document.text}" for document in ranking), budget)


def first_sentences(ranking: Ranking, budget: int) -> str:
    """The first sentence of each abstract in the order of the ranking, then the second ones, and so on."""
    sentences = [[document.text[b:e] for b, e in split(document.text)] for document in ranking]
    longest = max(map(len, sentences), default=0)
    return _within((of[number] for number in range(longest) for of in sentences if number < len(of)), budget)


def bm25_sentences(ranking: Ranking, budget: int) -> str:
    """The candidates' sentences in the order of BM25."""
    texts = [sentence.text for sentence in ranking.sentences]
    order = np.argsort(-bm25_scores(ranking.query, texts), kind="stable") if texts else []
    return _within((texts[row] for row in order), budget)


def evidence(ranking: Ranking, budget: int) -> str:
    """The passages of `Ranking.evidence`, without a floor."""
    return "\n".join(passage.text for passage in ranking.evidence(budget, min_answer_probability=0.0))


def everything(ranking: Ranking, budget: int) -> str:
    """All texts, whatever the budget."""
    return "\n".join(f"{document.title} {document.text}" for document in ranking)


SYSTEMS: dict[str, Callable[[Ranking, int], str]] = {
    "evidence": evidence,
    "whole abstracts": abstracts,
    "first sentences": first_sentences,
    "BM25 sentences": bm25_sentences,
    ALL: everything,
}


def _within(texts: Iterator[str], budget: int) -> str:
    """Texts one after the other, the last one cut at the budget."""
    chosen, left = [], budget
    for text in texts:
        if COUNT(text) > left:
            chosen.append(text[: left * 4])
            break
        chosen.append(text)
        left -= COUNT(text)
    return "\n".join(chosen)


def main() -> int:
    """Rank, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/ and pubmed/")
    parser.add_argument("--split", choices=sorted(BATCHES), default="test", help="default: test")
    parser.add_argument("--limit", type=positive, default=100, help="questions that lists are made of (100)")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    add_model_options(parser)
    arguments = parser.parse_args()
    return guarded("budget", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Recall by system and budget."""
    check_figures(arguments)
    chosen = questions_of(arguments.data, arguments.split, arguments.limit)
    if not chosen:
        raise InputError(f"--limit {arguments.limit}: no question with answers has enough candidates; raise it.")
    reranker = load_reranker(model_arguments(arguments))
    reranker.pairs_at_once = 2048
    rankings = list(
        reranker.stream([question.query for question in chosen], [question.candidates for question in chosen])
    )
    values = {
        name: [
            [recall(question, system(ranking, budget)) for question, ranking in zip(chosen, rankings, strict=True)]
            for budget in BUDGETS
        ]
        for name, system in SYSTEMS.items()
    }
    print(tabulate(_rows(values), [f"{len(chosen)} questions", *map(str, BUDGETS)], tablefmt="pipe"))
    if arguments.json:
        means = {name: [float(np.mean(of_budget)) for of_budget in rows] for name, rows in values.items()}
        write_json(arguments.json, {"questions": len(chosen), "budgets": BUDGETS, "recall": means})
    return 0


def _rows(values: dict[str, list[list[float]]]) -> list[list[str]]:
    rows = [[name, *(f"{np.mean(of_budget):.3f}" for of_budget in by_budget)] for name, by_budget in values.items()]
    cells = []
    for ours, theirs in zip(values["evidence"], values["whole abstracts"], strict=True):
        low, high = bootstrap_interval(np.array(ours) - np.array(theirs))
        cells.append(f"{np.mean(ours) - np.mean(theirs):+.3f} ({low:+.3f} to {high:+.3f})")
    return [*rows, ["evidence against whole abstracts", *cells]]


if __name__ == "__main__":
    sys.exit(main())
