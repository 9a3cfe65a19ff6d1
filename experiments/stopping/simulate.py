"""Screen test collections in simulation: when does the stopping test stop, what is missed, what is saved?

    python -m experiments.stopping.simulate --data DATA --json stopping.json

A run draws a query and 80 % of its candidates at random, ranks them by BM25 (or at random), and reads them in that
order; the test is made after every ten documents. Candidates are the whole collection (MED, Cranfield, NFCorpus) or
BM25's first 1,000 of BioASQ's full pool. Recall is that of the drawn candidates. No model runs.
"""

from __future__ import annotations

import argparse
import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from experiments.calibration.lists import bioasq_questions
from experiments.common.cranfield import read_cranfield
from experiments.common.test_sets import read_med, read_nfcorpus
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.core.text import Document
from mpir.evaluate.stopping import stopping_test
from mpir.files.corpora import read_jsonl
from mpir.files.write import write_json
from mpir.search.memory import MemoryIndex
from mpir.types import F64, Bool

SHARE, STEP, POOL = 0.8, 10, 1000
"""The share of the candidates in a run, the documents between two tests, and BioASQ's candidates."""
TARGETS = (0.95, 0.8)
"""Target recall."""


@dataclass(frozen=True)
class Screening:
    """The BM25 scores (D,) of a query's candidates, which of them are relevant (D,), and their texts (D,)."""

    scores: F64
    relevant: Bool
    texts: Sequence[str]


def med(data: Path, limit: int) -> Iterator[Screening]:
    """MED's queries over all its documents."""
    test = read_med(data / "med")
    yield from _screenings(test.documents, list(test.queries.items())[:limit], test.qrels)


def nfcorpus(data: Path, limit: int) -> Iterator[Screening]:
    """NFCorpus's test titles over all its documents."""
    test = read_nfcorpus(data / "nfcorpus")
    yield from _screenings(test.documents, list(test.queries.items())[:limit], test.qrels)


def cranfield(data: Path, limit: int) -> Iterator[Screening]:
    """Cranfield's queries over all its documents."""
    test = read_cranfield(data / "cranfield")
    yield from _screenings(test.documents, list(test.queries.items())[:limit], test.qrels)


def bioasq(data: Path, limit: int) -> Iterator[Screening]:
    """BioASQ's test questions over BM25's first candidates of all abstracts and partial records."""
    documents = [
        document for name in ("abstracts", "partial") for document in read_jsonl(data / f"pubmed/{name}.jsonl")
    ]
    questions = bioasq_questions(data, "test", {document.id for document in documents}, limit, 0)
    queries = [(question.id, question.body) for question in questions]
    qrels = {question.id: dict.fromkeys(question.documents or (), 1) for question in questions}
    yield from _screenings(documents, queries, qrels, POOL)


COLLECTIONS = {"bioasq": bioasq, "med": med, "nfcorpus": nfcorpus, "cranfield": cranfield}


def _screenings(
    documents: list[Document] | Any, queries: list[tuple[str, str]], qrels: dict[str, dict[str, int]], depth: int = 0
) -> Iterator[Screening]:
    texts, names = [document.text for document in documents], [document.id for document in documents]
    index = MemoryIndex(texts)
    for query, text in queries:
        scores = np.asarray(index.scores(text), float)
        rows = np.argsort(-scores, kind="stable")[: depth or None]
        relevant = np.array([qrels.get(query, {}).get(names[row], 0) > 0 for row in rows])
        if relevant.any():
            yield Screening(scores[rows], relevant, [texts[row] for row in rows])


def drawn(screening: Screening, generator: np.random.Generator, *, by_score: bool) -> Bool:
    """Return whether each document (D,) of a run is relevant, in the order of reading."""
    count = len(screening.scores)
    rows = generator.permutation(count)[: max(1, round(SHARE * count))]
    return screening.relevant[rows[np.argsort(-screening.scores[rows], kind="stable")] if by_score else rows]


def stopped_at(relevant: Bool, recall: float, confidence: float) -> int:
    """Return the number of documents read when the test stops, a multiple of `STEP`, or all of them.

    Between two relevant documents p only falls, so the last look there is the first one to try, and the stop is then
    searched by halving.
    """
    total = len(relevant)

    def stops(read: int) -> bool:
        return stopping_test(relevant[:read], total, recall=recall, confidence=confidence).stop

    start = 0
    for end in [*(1 + np.flatnonzero(relevant)), total + 1]:
        looks = range(start + (-start) % STEP, end, STEP)
        if looks and stops(looks[-1]):
            return looks[bisect_left(looks, True, key=stops)]
        start = end
    return total


def summary(screenings: list[Screening], runs: int, *, by_score: bool, target: tuple[float, float]) -> dict[str, float]:
    """Simulate: the mean recall at the stop, how often the target is missed, and the share of documents not read."""
    generator, recalls, saved = np.random.default_rng(0), [], []
    while len(recalls) < runs:
        relevant = drawn(screenings[generator.integers(len(screenings))], generator, by_score=by_score)
        if not relevant.any():
            continue
        read = stopped_at(relevant, *target)
        recalls.append(relevant[:read].sum() / relevant.sum())
        saved.append(1 - read / len(relevant))
    shares = np.array(recalls)
    return {
        "recall": float(shares.mean()),
        "lowest tenth": float(np.quantile(shares, 0.1)),
        "missed": float((shares < target[0] - 1e-9).mean()),
        "saved": float(np.mean(saved)),
    }


def main() -> int:
    """Simulate, print, and write the figures."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with the collections")
    parser.add_argument("--collections", nargs="+", choices=COLLECTIONS, default=list(COLLECTIONS))
    parser.add_argument("--runs", type=positive, default=1000, help="runs for each row (1,000)")
    parser.add_argument("--limit", type=positive, default=1000, help="most queries of a collection (1,000)")
    parser.add_argument("--confidence", type=float, default=0.95, help="that the target is reached (0.95)")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    return guarded("simulate", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A row for each collection, order and target."""
    check_figures(arguments)
    rows = []
    for name in arguments.collections:
        screenings = list(COLLECTIONS[name](arguments.data, arguments.limit))
        for by_score in (True, False):
            for recall in TARGETS if by_score else TARGETS[:1]:
                target = recall, arguments.confidence
                figures = summary(screenings, arguments.runs, by_score=by_score, target=target)
                order = "BM25" if by_score else "random"
                rows.append({"collection": name, "queries": len(screenings), "order": order} | _named(target) | figures)
                print(tabulate([rows[-1]], headers={} if len(rows) > 1 else "keys", floatfmt=".3f"), flush=True)
    if arguments.json:
        write_json(arguments.json, {"runs": arguments.runs, "rows": rows})
    return 0


def _named(target: tuple[float, float]) -> dict[str, float]:
    return {"target": target[0], "confidence": target[1]}


if __name__ == "__main__":
    sys.exit(main())
