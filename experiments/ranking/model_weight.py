"""The weight of an untuned model's document column next to the default bundle: nDCG@10 for several weights.

    python -m experiments.ranking.model_weight --data DATA --model mpir/bundles/default/model --set model.output=3
    python -m experiments.ranking.model_weight --data DATA --sets bioasq scifact --encoder ENCODER

For each collection, BM25's best documents for a query are scored once by the bundle and by each model. Then documents
are ordered by BM25, by the bundle, by the model alone, by BM25 and the model (sum of z-scores), and by the bundle with
the model's column at each weight. p is from a paired randomisation test against the better of the model alone and BM25
with the model; the interval is for the difference from it. ``bioasq`` are BioASQ's development questions.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
from tabulate import tabulate

from experiments.common.retrieval import best_documents, measure_run
from experiments.common.test_sets import FOLDERS, READERS, TestSet
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.model_options import add_model_options, load_reranker, model_arguments
from mpir.app.cli.value_options import file_path, positive, text_path
from mpir.core.blend import blend, zscores
from mpir.core.candidates import Candidates
from mpir.core.text import Document
from mpir.evaluate import bootstrap_interval, randomisation_test
from mpir.files.corpora import read_corpus, read_questions
from mpir.files.read import read_json
from mpir.reranking.reranker import Reranker
from mpir.search.memory import MemoryIndex
from mpir.types import F64

MEASURE = "nDCG@10"
WEIGHTS = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0)
OF_BUNDLE = ("bm25", "dense", "document", "topic", "words")
"""Document columns other than models'."""
SETS = ("bioasq", "scifact", "nfcorpus", "med")


def main() -> int:
    """Read arguments, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/, pubmed/, scifact/ …")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="default: all")
    parser.add_argument("--limit", type=positive, default=50, metavar="N", help="queries of each (%(default)s)")
    parser.add_argument("--head", type=positive, default=20, metavar="N", help="documents of a query (%(default)s)")
    parser.add_argument("--encoder", type=text_path, metavar="NAME|DIR", help="an embedding model, as one more model")
    add_model_options(parser)
    arguments = parser.parse_args()
    return guarded("model_weight", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Measure on each collection."""
    reranker = load_reranker(model_arguments(arguments))
    if arguments.encoder:
        options = {"device": arguments.device, "precision": arguments.precision, "cache": reranker.cache}
        reranker = Reranker(
            arguments.bundle, models=model_arguments(arguments).named_models([arguments.encoder]), **options
        )
    for name in arguments.sets:
        is_dev = name == "bioasq"
        collection = read_dev(arguments.data) if is_dev else READERS[name](arguments.data / FOLDERS.get(name, name))
        print(f"{collection.name}\n{measure(reranker, collection, arguments.limit, arguments.head)}\n", flush=True)
    return 0


def measure(reranker: Reranker, collection: TestSet, limit: int, head: int) -> str:
    """Return a table of one collection: a row for each model, a column for each order of documents."""
    queries = dict(islice(collection.queries.items(), limit))
    scored = reranker.score(list(queries.values()), list(first_stage(collection, queries, head)))
    qrels = {query: collection.qrels.get(query, {}) for query in queries}
    columns = [column.name for column in reranker.layout.document_columns if column.name not in OF_BUNDLE]
    rows = []
    for column in columns:
        figures = {
            order: per_query(qrels, list(queries), scored, scores)
            for order, scores in orders(reranker, scored, column).items()
        }
        better = max((figures["model"], figures["BM25 + model"]), key=np.mean)
        for order, values in figures.items():
            low, high = bootstrap_interval(values - better)
            p = randomisation_test(values, better)
            compared = ["", ""] if values is better else [f"{low:+.3f} to {high:+.3f}", f"{p:.3f}"]
            rows.append([column, order, f"{np.mean(values):.4f}", *compared])
    return tabulate(rows, ["model", "documents by", MEASURE, "difference", "p"], disable_numparse=True)


def read_dev(data: Path) -> TestSet:
    """Return BioASQ's development questions and the available abstracts."""
    dev = set(read_json(data / "bioasq/splits.json")["dev"])
    paths = sorted((data / "bioasq").glob("*_golden.json"))
    questions = [question for path in paths for question in read_questions(path) if question.id in dev]
    documents = list(read_corpus([data / "pubmed/abstracts.jsonl"]))
    qrels = {question.id: dict.fromkeys(question.documents, 1) for question in questions}
    return TestSet("BioASQ dev", {question.id: question.body for question in questions}, documents, qrels)


def first_stage(collection: TestSet, queries: Mapping[str, str], head: int) -> Iterator[list[Document]]:
    """Yield BM25's best documents of each query, with their scores."""
    index = MemoryIndex([document.text for document in collection.documents])
    for query in queries.values():
        yield best_documents(index.scores(query), collection.documents, head)


def orders(reranker: Reranker, scored: Sequence[Candidates], column: str) -> dict[str, list[F64]]:
    """Return the scores of each query's documents by each order."""
    bm25 = [candidates.columns.document("bm25") for candidates in scored]
    model = [candidates.columns.document(column) for candidates in scored]
    both = [_scaled(first) + _scaled(second) for first, second in zip(bm25, model, strict=True)]
    blends = {}
    without = dict.fromkeys((name for name in reranker.weights.beta if name not in OF_BUNDLE), 0.0)
    for weight in WEIGHTS:
        weights = replace(reranker.weights, beta={**reranker.weights.beta, **without, column: weight})
        blends[f"bundle + {weight} model"] = [blend(candidates.columns, weights).documents for candidates in scored]
    return {"BM25": bm25, "model": model, "BM25 + model": both, **blends}


def _scaled(scores: F64) -> F64:
    return zscores(scores[:, None], np.zeros(len(scores), np.int64))[:, 0]


def per_query(
    qrels: Mapping[str, Mapping[str, int]], queries: Sequence[str], scored: Sequence[Candidates], scores: list[F64]
) -> F64:
    """Return the measure (Q,) of each query."""
    run = {
        query: {document.id: float(score) for document, score in zip(candidates.documents, values, strict=True)}
        for query, candidates, values in zip(queries, scored, scores, strict=True)
    }
    return measure_run(qrels, run, [MEASURE], queries=queries)[MEASURE]


if __name__ == "__main__":
    raise SystemExit(main())
