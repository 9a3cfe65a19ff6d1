"""Screen reviews and test collections in simulation: when does the stopping test stop, what is missed, what is saved?

    python -m experiments.stopping.simulate --orders orders.json
    python -m experiments.stopping.simulate --data DATA --json stopping.json

A run draws 80 % of a review's records and reads them in an order that `experiments.stopping.reviews` wrote; or it draws
a query and 80 % of its candidates, ranks them by BM25 (or at random), and reads them in that order. The test is made
after every document. Candidates are the whole collection (MED, Cranfield, NFCorpus) or BM25's first 1,000 of BioASQ's
full pool. Recall is that of the drawn candidates. No model runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from bisect import bisect_left
from collections.abc import Iterator
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
from mpir.evaluate.stopping import CONFIDENCE, stopping_test
from mpir.files.corpora import read_jsonl
from mpir.files.write import write_json
from mpir.search.memory import MemoryIndex
from mpir.types import F64, Bool

SHARE, POOL = 0.8, 1000
"""The share of the candidates in a run, and BioASQ's candidates."""
TARGETS = (0.95, 0.8)
"""Target recall."""


@dataclass(frozen=True)
class Screening:
    """The scores (D,) of a query's candidates, and which of them are relevant (D,)."""

    scores: F64
    relevant: Bool


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


def reviews(path: Path) -> dict[str, list[Screening]]:
    """Each review's orders of reading."""
    results = json.loads(path.read_text(encoding="utf-8"))
    return {result["review"]: [_in_order(labels) for labels in result["labels"]] for result in results}


def _in_order(labels: list[int]) -> Screening:
    return Screening(-np.arange(float(len(labels))), np.array(labels, bool))


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
            yield Screening(scores[rows], relevant)


def drawn(screening: Screening, generator: np.random.Generator, *, by_score: bool) -> Bool:
    """Return whether each document (D,) of a run is relevant, in the order of reading."""
    count = len(screening.scores)
    rows = generator.permutation(count)[: max(1, round(SHARE * count))]
    return screening.relevant[rows[np.argsort(-screening.scores[rows], kind="stable")] if by_score else rows]


def stopped_at(relevant: Bool, recall: float, confidence: float) -> int:
    """Return the number of documents read when the test stops, or all of them.

    Between two relevant documents p only falls, so the last look there is the first one to try, and the stop is then
    searched by halving.
    """
    total = len(relevant)

    def stops(read: int) -> bool:
        return stopping_test(relevant[:read], total, recall=recall, confidence=confidence).stop

    start = 0
    for end in [*(1 + np.flatnonzero(relevant)), total + 1]:
        looks = range(start, end)
        if looks and stops(looks[-1]):
            return looks[bisect_left(looks, True, key=stops)]
        start = end
    return total


def summary(screenings: list[Screening], runs: int, *, by_score: bool, target: tuple[float, float]) -> dict[str, float]:
    """Simulate: mean recall at the stop, how often the target is missed, and the shares of reading saved and overshot.

    The overshoot is the share of the documents that were read after the target was reached.
    """
    generator, recalls, saved, overshoot = np.random.default_rng(0), [], [], []
    while len(recalls) < runs:
        relevant = drawn(screenings[generator.integers(len(screenings))], generator, by_score=by_score)
        if not relevant.any():
            continue
        read = stopped_at(relevant, *target)
        recalls.append(relevant[:read].sum() / relevant.sum())
        saved.append(1 - read / len(relevant))
        needed = 1 + int(np.argmax(relevant.cumsum() >= target[0] * relevant.sum() - 1e-9))
        overshoot.append(max(0, read - needed) / len(relevant))
    shares = np.array(recalls)
    return {
        "recall": float(shares.mean()),
        "lowest tenth": float(np.quantile(shares, 0.1)),
        "missed": float((shares < target[0] - 1e-9).mean()),
        "saved": float(np.mean(saved)),
        "overshoot": float(np.mean(overshoot)),
    }


def main() -> int:
    """Simulate, print, and write the figures."""
    parser = script_parser(__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=file_path, help="the folder with the collections")
    source.add_argument("--orders", type=file_path, metavar="FILE", help="what `experiments.stopping.reviews` wrote")
    parser.add_argument("--collections", nargs="+", choices=COLLECTIONS, default=list(COLLECTIONS))
    parser.add_argument("--runs", type=positive, default=1000, help="runs for each row (1,000)")
    parser.add_argument("--limit", type=positive, default=1000, help="most queries of a collection (1,000)")
    parser.add_argument("--confidence", type=float, default=CONFIDENCE, help=f"1 minus the p to stop at ({CONFIDENCE})")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    return guarded("simulate", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A row for each collection, order and target."""
    check_figures(arguments)
    rows = []
    for name, screenings, order in sources(arguments):
        for recall in TARGETS if order == "BM25" else TARGETS[:1]:
            target = recall, arguments.confidence
            figures = summary(screenings, arguments.runs, by_score=order != "random", target=target)
            rows.append({"name": name, "orders": len(screenings), "order": order} | _named(target) | figures)
            print(tabulate([rows[-1]], headers={} if len(rows) > 1 else "keys", floatfmt=".3f"), flush=True)
    if arguments.json:
        write_json(arguments.json, {"runs": arguments.runs, "rows": rows})
    return 0


def sources(arguments: argparse.Namespace) -> Iterator[tuple[str, list[Screening], str]]:
    """The name, screenings and order of each row."""
    if arguments.orders:
        for name, screenings in reviews(arguments.orders).items():
            yield name, screenings, "decisions"
        return
    for name in arguments.collections:
        screenings = list(COLLECTIONS[name](arguments.data, arguments.limit))
        yield from ((name, screenings, order) for order in ("BM25", "random"))


def _named(target: tuple[float, float]) -> dict[str, float]:
    return {"target": target[0], "confidence": target[1]}


if __name__ == "__main__":
    sys.exit(main())
