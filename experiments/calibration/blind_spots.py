"""What a probability does not know: denials, negated questions, and questions that no candidate answers.

    python -m experiments.calibration.blind_spots --data DATA --json runs/blind-spots.json

`denials.jsonl` has an answer and its denial for 60 questions, `negations.jsonl` 60 questions with their negations and a
sentence that answers each. The third set is BioASQ's test questions with BM25's best abstracts, whose gold documents
are taken away; some of the rest may answer without a judgement.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from experiments.calibration.lists import Corpus, bioasq_questions
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.model_options import add_model_options, load_reranker, model_arguments
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.core.text import Document
from mpir.core.text.claims import claim_of
from mpir.core.text.split import split
from mpir.evaluate import bootstrap_interval
from mpir.files.corpora import read_jsonl
from mpir.files.read import read_json, read_json_lines
from mpir.files.write import write_json
from mpir.reranking.reranker import Reranker
from mpir.types import F64

FOLDER = Path(__file__).parent
ANSWERS = 0.5
"""The probability from which on a reader takes a document for an answer."""
Figures = dict[str, float]
Row = Mapping[str, str]


def main() -> int:
    """Rank, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/ and pubmed/")
    parser.add_argument("--limit", type=positive, default=60, help="rows of each set (%(default)s)")
    parser.add_argument("--candidates", type=positive, default=20, help="abstracts of a question (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    add_model_options(parser)
    arguments = parser.parse_args()
    return guarded("blind_spots", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A table for each set."""
    check_figures(arguments)
    reranker, limit = load_reranker(model_arguments(arguments)), arguments.limit
    figures = {
        "denials": of_denials(reranker, rows_of("denials", limit)),
        "negations": of_negations(reranker, rows_of("negations", limit)),
        "nothing answers": of_unanswered(reranker, arguments),
        "sentences of gold snippets that are marked": of_snippets(arguments.data / "bioasq"),
    }
    for name, values in figures.items():
        print(f"\n{name}\n\n{tabulate(values.items(), ['', ''], tablefmt='pipe', floatfmt='.3f')}", flush=True)
    if arguments.json:
        write_json(arguments.json, figures)
    return 0


def rows_of(name: str, limit: int) -> list[Row]:
    """The rows of a file beside this one."""
    return [row for _, row in read_json_lines(FOLDER / f"{name}.jsonl")][:limit]


def of_denials(reranker: Reranker, rows: Sequence[Row]) -> Figures:
    """The figures of answers and their denials."""
    chances = probabilities(
        reranker, [row["question"] for row in rows], [(row["answer"], row["denial"]) for row in rows]
    )
    marks = {
        name: np.array([bool(claim_of(row[name], row["question"])) for row in rows]) for name in ("answer", "denial")
    }
    return {
        "pairs": len(rows),
        **denial_figures(chances),
        **{f"{name} marked": float(m.mean()) for name, m in marks.items()},
    }


def denial_figures(chances: F64) -> Figures:
    """The figures of probabilities (R, 2) of answers and their denials."""
    answer, denial = chances.T
    low, high = bootstrap_interval((denial > answer).astype(float))
    return {
        "denial above": float((denial > answer).mean()),
        "low": float(low),
        "high": float(high),
        "answer, mean": float(answer.mean()),
        "denial, mean": float(denial.mean()),
        "answer - denial, mean": float((answer - denial).mean()),
        "answer - denial, median": float(np.median(answer - denial)),
        f"answer >= {ANSWERS}": float((answer >= ANSWERS).mean()),
        f"denial >= {ANSWERS}": float((denial >= ANSWERS).mean()),
    }


def of_negations(reranker: Reranker, rows: Sequence[Row]) -> Figures:
    """The figures of questions and their negations."""
    texts = [(row["answer"], row["answer_of_negation"]) for row in rows]
    plain, negated = (probabilities(reranker, [row[name] for row in rows], texts) for name in ("question", "negation"))
    return {"pairs": len(rows), **negation_figures(plain, negated)}


def negation_figures(plain: F64, negated: F64) -> Figures:
    """The figures of probabilities (R, 2) of both answers, for questions and for their negations."""
    is_first, is_first_negated = plain[:, 0] > plain[:, 1], negated[:, 0] > negated[:, 1]
    return {
        "question: its answer first": float(is_first.mean()),
        "negation: its answer first": float((~is_first_negated).mean()),
        "same order for both": float((is_first == is_first_negated).mean()),
        "question: its answer, mean": float(plain[:, 0].mean()),
        "question: the other answer, mean": float(plain[:, 1].mean()),
        "negation: its answer, mean": float(negated[:, 1].mean()),
        "negation: the other answer, mean": float(negated[:, 0].mean()),
        "one text, question and negation: mean distance": float(np.abs(plain - negated).mean()),
    }


def of_unanswered(reranker: Reranker, arguments: argparse.Namespace) -> Figures:
    """The figures of test questions with and without the documents that answer."""
    corpus = Corpus.of(list(read_jsonl(arguments.data / "pubmed" / "abstracts.jsonl")), arguments.seed)
    held = {document.id for document in corpus.documents}
    all_questions = bioasq_questions(arguments.data, "test", held, None, arguments.seed)
    questions = random.Random(arguments.seed).sample(all_questions, min(arguments.limit, len(all_questions)))
    lists = [corpus.best(question.body, arguments.candidates) for question in questions]
    rankings = reranker.stream([question.body for question in questions], lists)
    best = []
    for question, ranking in zip(questions, rankings, strict=True):
        gold = set(question.documents or ())
        chances = [(document.id in gold, document.probability or 0.0) for document in ranking]
        best.append([max((p for is_gold, p in chances if is_gold == kind), default=0.0) for kind in (True, False)])
    return {"questions": len(questions), **unanswered_figures(np.array(best))}


def unanswered_figures(best: F64) -> Figures:
    """The figures of the highest probabilities (Q, 2) of gold and of other candidates."""
    gold, others = best.T
    low, high = bootstrap_interval((others >= ANSWERS).astype(float))
    return {
        "all candidates: best, mean": float(best.max(axis=1).mean()),
        f"all candidates: best >= {ANSWERS}": float((best.max(axis=1) >= ANSWERS).mean()),
        "without gold: best, mean": float(others.mean()),
        "without gold: best, median": float(np.median(others)),
        f"without gold: best >= {ANSWERS}": float((others >= ANSWERS).mean()),
        "low": float(low),
        "high": float(high),
        "without gold: best >= 0.8": float((others >= 0.8).mean()),
        "gold above others": float((gold > others).mean()),
    }


def of_snippets(folder: Path) -> Figures:
    """The share of sentences in gold snippets of yes/no questions that are marked, by the answer."""
    marks: dict[str, list[bool]] = {}
    for path in sorted(folder.glob("*_golden.json")):
        for question in read_json(path)["questions"]:
            if question["type"] == "yesno":
                answer = question["exact_answer"]
                answer = (answer if isinstance(answer, str) else answer[0]).strip(". ").lower()
                marks.setdefault(answer, []).extend(marks_of(question))
    return {
        name: value
        for answer, of in marks.items()
        for name, value in ((answer, np.mean(of)), (f"{answer}: sentences", len(of)))
    }


def marks_of(question: Mapping[str, Any]) -> Iterator[bool]:
    """Whether each sentence of a question's gold snippets is marked."""
    for snippet in question.get("snippets") or ():
        for begin, end in split(snippet["text"]):
            yield bool(claim_of(snippet["text"][begin:end], question["body"]))


def probabilities(reranker: Reranker, queries: Sequence[str], texts: Sequence[Sequence[str]]) -> F64:
    """The probability (Q, N) of each query's N texts, each a document of its own, in their order."""
    lists = [[Document(str(i), "", text) for i, text in enumerate(of_query)] for of_query in texts]
    rankings = reranker.stream(queries, lists)
    return np.array(
        [[document.probability for document in sorted(ranking, key=lambda d: int(d.id))] for ranking in rankings]
    )


if __name__ == "__main__":
    sys.exit(main())
