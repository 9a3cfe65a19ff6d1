"""Compare sentence encoders by exact cosine on whole collections: which ratio of two encoders' weights should ship?

    mpir train average default/encoder START --share 0.5 --output runs/encoders/half
    python -m experiments.dense.encoders runs/encoders/half START --data DATA --json runs/half.json

No index and no BM25: every query is compared with every document. A ratio is chosen on `CHOICE`, training and
development queries; `REPORT` has the test queries of the same documents, and MED. BioASQ's documents are the gold ones
of the dev questions and a sample of the pool. The vectors are kept, and an interrupted run resumes.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from tabulate import tabulate

from experiments.common.baselines import Start
from experiments.common.significance import p_against
from experiments.common.test_sets import TestSet, limited, read_csv, read_med, read_nfcorpus, read_pairs, read_scifact
from experiments.dense.first_stages import read_bioasq
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.core.text import Document
from mpir.evaluate import evaluate_queries
from mpir.files.corpora import read_qrels
from mpir.files.write import write_json
from mpir.types import F64

CHOICE = ("scifact-train", "nfcorpus-dev", "bioasq-dev")
REPORT = ("scifact", "nfcorpus", "med")
MEASURES = ("nDCG@10", "R@100")
POOL = 800
"""Documents of BioASQ's pool beside the gold ones."""


def scifact_train(data: Path) -> TestSet:
    """SciFact's training claims with the abstracts that they cite."""
    test, queries, qrels = read_scifact(data / "scifact"), {}, {}
    for row in read_csv(data / "scifact" / "claims_train.csv", "id", "claim", "cited_doc_ids"):
        queries[row["id"]] = row["claim"]
        qrels[row["id"]] = dict.fromkeys(row["cited_doc_ids"].strip("[]").replace(",", " ").split(), 1)
    return replace(test, name="SciFact, training claims", queries=queries, qrels=qrels)


def nfcorpus_dev(data: Path) -> TestSet:
    """NFCorpus's development titles over the documents of all splits."""
    folder = data / "nfcorpus"
    queries, qrels = dict(read_pairs(folder / "dev.titles.queries")), read_qrels(folder / "dev.2-1-0.qrel")
    return replace(read_nfcorpus(folder), name="NFCorpus, dev titles", queries=queries, qrels=qrels)


def bioasq_dev(data: Path) -> TestSet:
    """BioASQ's dev questions over their gold documents and a sample of the pool."""
    test = read_bioasq("pool", data, "dev")
    gold = {document for grades in test.qrels.values() for document in grades}
    others = [document for document in test.documents if document.id not in gold]
    sample = random.Random(0).sample(others, min(POOL, len(others)))
    return replace(test, documents=[*(document for document in test.documents if document.id in gold), *sample])


SETS: Mapping[str, Callable[[Path], TestSet]] = {
    "scifact-train": scifact_train,
    "nfcorpus-dev": nfcorpus_dev,
    "bioasq-dev": bioasq_dev,
    "scifact": lambda data: read_scifact(data / "scifact"),
    "nfcorpus": lambda data: read_nfcorpus(data / "nfcorpus"),
    "med": lambda data: read_med(data / "med"),
}


def main() -> int:
    """Encode, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("encoders", nargs="+", type=file_path, help="folders of sentence encoders")
    parser.add_argument("--data", type=file_path, required=True, help="the folder with scifact/, nfcorpus/ and others")
    parser.add_argument("--vectors", type=file_path, default=Path("runs/vectors"), help="folder for vectors")
    parser.add_argument("--sets", nargs="+", choices=sorted(SETS), default=[*CHOICE, *REPORT])
    parser.add_argument("--limit", type=positive, metavar="N", help="only N queries of each set")
    parser.add_argument("--documents", type=positive, metavar="N", help="only the first N documents of each set")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    return guarded("encoders", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A row for each set and encoder, with p against the last encoder."""
    check_figures(arguments)
    arguments.vectors.mkdir(parents=True, exist_ok=True)
    rows, figures = [], {}
    for name in arguments.sets:
        test = limited(first_documents(SETS[name](arguments.data), arguments.documents), arguments.limit, 1)
        values = {str(path): measure(test, Start(path, arguments.vectors)) for path in arguments.encoders}
        rows += table(test.name, values)
        figures[name] = {path: {m: float(v.mean()) for m, v in of.items()} for path, of in values.items()}
        print(tabulate(rows, ["", "encoder", *MEASURES, "p"], floatfmt=".4f", tablefmt="pipe"), flush=True)
    if arguments.json:
        write_json(arguments.json, {"sets": figures})
    return 0


def first_documents(test: TestSet, count: int | None) -> TestSet:
    """The set with its first documents and the queries with a relevant one among them."""
    if count is None:
        return test
    documents = test.documents[:count]
    ids = {document.id for document in documents}
    qrels = {query: {d: g for d, g in grades.items() if d in ids} for query, grades in test.qrels.items()}
    return replace(test, documents=documents, qrels={query: grades for query, grades in qrels.items() if grades})


def measure(test: TestSet, encoder: Start) -> dict[str, F64]:
    """The figures of an encoder for each query."""
    cosines = encoder.cosines(list(test.queries.values()), [document.text for document in test.documents])
    run = {query: run_of(test.documents, scores) for query, scores in zip(test.queries, cosines, strict=True)}
    by_query = evaluate_queries(test.qrels, run, list(MEASURES))
    return {measure: np.array(list(values.values())) for measure, values in by_query.items()}


def run_of(documents: Sequence[Document], scores: F64, depth: int = 1000) -> dict[str, float]:
    """The best documents with their scores."""
    best = np.argsort(-scores, kind="stable")[:depth]
    return {documents[i].id: float(scores[i]) for i in best}


def table(name: str, values: dict[str, dict[str, F64]]) -> list[list[object]]:
    """A row for each encoder of a set; p of nDCG@10 against the last one."""
    *_, base = values
    p_values = p_against({path: of[MEASURES[0]] for path, of in values.items()}, base) if len(values) > 1 else {}
    return [
        [name, Path(path).name, *(float(of[m].mean()) for m in MEASURES), p_values.get(path, "")]
        for path, of in values.items()
    ]


if __name__ == "__main__":
    sys.exit(main())
