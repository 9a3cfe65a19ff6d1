"""Dense and hybrid first stages compared with BM25, and the blend on top of each.

    python -m experiments.dense.first_stages --data DATA --encoder FOLDER_OR_HUB_NAME --indexes runs/dense

The collections are SciFact, NFCorpus, MED and Cranfield, which are outside the training data, and BioASQ's questions
(dev, or --split test) over whole abstracts (`abstracts`), or also over records assembled from snippets (`pool`). The
script prints recall at 100, 1,000 and 2,000, MAP, MRR@10 and nDCG@10 for BM25, for BM25 with RM3, for vectors, and for
BM25 and vectors by reciprocal rank fusion and by the sum of z-scores. Every first stage searches the whole collection
for 2,000 documents; with --rerank N, a bundle's blend then reranks the first N of BM25 and of the sum, with BM25 and
the index's vectors as columns. Results are means over
queries, and the p-value of a paired randomisation test on nDCG@10 against BM25, corrected for the number of systems
(Holm). The vectors are kept in the folder of indexes; an interrupted run resumes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from tabulate import tabulate

from experiments.common.cranfield import read_cranfield
from experiments.common.retrieval import Values, measure_run, run_of_lists
from experiments.common.significance import p_against
from experiments.common.test_sets import FOLDERS, READERS, TestSet, limited
from experiments.ranking.evaluation import with_gold
from experiments.ranking.sentences import gold_questions
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.first_stage import open_encoder
from mpir.app.cli.model_options import add_model_options, load_reranker, model_arguments
from mpir.app.cli.value_options import file_path, not_negative, positive, text_path
from mpir.core.checksum import fingerprint
from mpir.core.text import Document
from mpir.files.corpora import read_corpus
from mpir.reranking.reranker import Reranker
from mpir.search import DenseIndex, HybridRetriever, LuceneIndex, Retriever, build_index, index_matches
from mpir.search.base import Vectoriser
from mpir.search.dense import build_dense, dense_matches
from mpir.search.memory import Rm3

MEASURES = {
    "R@100": "R@100",
    "R@1000": "R@1000",
    "R@2000": "R@2000",
    "AP": "MAP",
    "RR@10": "MRR@10",
    "nDCG@10": "nDCG@10",
}
MAIN = "nDCG@10"
RERANKED = ("BM25", "both, z-scores")
DEPTH = 2000
POOLS = {"abstracts": ("abstracts.jsonl",), "pool": ("abstracts.jsonl", "partial.jsonl")}
SETS = ("scifact", "nfcorpus", "med", "cranfield", *POOLS)
FOREIGN = SETS[:4]


def main() -> int:
    """Read arguments, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument(
        "--data", type=file_path, required=True, help="the folder with scifact/, nfcorpus/, med/, cranfield/"
    )
    parser.add_argument(
        "--encoder",
        type=text_path,
        default="default",
        help="bundle with a bi-encoder, folder or hub name (%(default)s)",
    )
    parser.add_argument(
        "--indexes", type=file_path, default=Path("runs/dense"), help="folder for indexes (%(default)s)"
    )
    parser.add_argument("--factory", default="Flat", help="faiss's string for the kind of index (%(default)s)")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(FOREIGN), help="default: %(default)s")
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="of BioASQ (%(default)s)")
    parser.add_argument("--limit", type=positive, metavar="N", help="only N queries of each set, drawn by the seed")
    parser.add_argument("--seed", type=not_negative, default=1, help="%(default)s")
    parser.add_argument(
        "--rerank", type=positive, metavar="N", help="also run the blend on the first N of BM25 and of the sum"
    )
    add_model_options(parser)
    return guarded("dense", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """One table for all collections."""
    encoder, rows = open_encoder(arguments.encoder), []
    reranker = load_reranker(model_arguments(arguments)) if arguments.rerank else None
    for name in arguments.sets:
        test = limited(read(name, arguments.data, arguments.split), arguments.limit, arguments.seed)
        stages = first_stages(test, arguments.indexes / name, encoder, arguments.factory)
        systems: dict[str, Searching] = dict(stages)
        if reranker is not None:
            for label in RERANKED:
                both = (stages["BM25"], stages["vectors"])
                systems[f"{label}, blend"] = Blended(stages[label], both, reranker, arguments.rerank)
        rows += table(test.name, {label: measure(test, stage) for label, stage in systems.items()})
        stages["BM25"].close()
    print(tabulate(rows, ["", "", *MEASURES.values(), "p against BM25 (Holm)"], floatfmt=".4f", tablefmt="github"))
    return 0


class Searching(Protocol):
    """A first stage."""

    def search_batch(self, queries: Sequence[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
        """The k best documents of each query, best first."""


def first_stages(test: TestSet, folder: Path, encoder: Vectoriser, factory: str) -> dict[str, Retriever]:
    """BM25, vectors and both, over a collection whose indexes are made where they are missing or of other texts."""
    texts = fingerprint([[document.id, document.title, document.abstract] for document in test.documents])
    source = {"documents": len(test.documents), "texts": texts}
    if not index_matches(folder / "bm25", source):
        build_index(test.documents, folder / "bm25", source=source)
    if not dense_matches(folder / "dense", source, encoder.identity, factory=factory, sentences=False):
        progress = sys.stderr.isatty()
        build_dense(test.documents, folder / "dense", encoder, factory=factory, source=source, progress=progress)
    both = [Once(LuceneIndex(folder / "bm25")), Once(DenseIndex(folder / "dense", encoder))]
    return {
        "BM25": both[0],
        "BM25 + RM3": LuceneIndex(folder / "bm25", rm3=Rm3()),
        "vectors": both[1],
        "both, RRF": HybridRetriever(both),
        "both, z-scores": HybridRetriever(both, fusion="sum"),
    }


class Once:
    """A first stage that searches for the same queries only once."""

    def __init__(self, stage: Retriever) -> None:
        self.stage, self.found = stage, {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stage, name)

    def __len__(self) -> int:
        return len(self.stage)

    def search_batch(self, queries: Sequence[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
        """Return the results of the first call."""
        if (*queries, k) not in self.found:
            self.found[*queries, k] = self.stage.search_batch(queries, k, progress=progress)
        return self.found[*queries, k]


@dataclass(frozen=True)
class Blended:
    """A first stage whose best `depth` documents are reranked; `both` are BM25 and vectors, the columns."""

    stage: Retriever
    both: tuple[Retriever, Retriever]
    reranker: Reranker
    depth: int

    def search_batch(self, queries: Sequence[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
        """The k best documents of each query, best first."""
        lists = self.stage.search_batch(queries, k)
        heads = [self._scored(query, documents[: self.depth]) for query, documents in zip(queries, lists, strict=True)]
        rankings = self.reranker.rerank_batch(queries, heads, progress=sys.stderr.isatty())
        known_documents = [{document.id: document for document in head} for head in heads]
        return [
            [*(known[document.id] for document in ranking.documents), *documents[self.depth :]]
            for known, ranking, documents in zip(known_documents, rankings, lists, strict=True)
        ]

    def _scored(self, query: str, documents: Sequence[Document]) -> list[Document]:
        """Documents with the scores of both first stages, whichever found them; no model reads a document for that."""
        names = [document.id for document in documents]
        columns = {scorer.name: scorer.scores_of(query, names).tolist() for scorer in self.both}
        scores = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return [replace(document, scores=own_scores) for document, own_scores in zip(documents, scores, strict=True)]


def measure(test: TestSet, stage: Searching) -> Values:
    """The figures of one system, query by query."""
    lists = stage.search_batch(list(test.queries.values()), DEPTH)
    return measure_run(test.qrels, run_of_lists(test.queries, lists), list(MEASURES))


def table(name: str, values: dict[str, Values]) -> list[list[object]]:
    """A row for each system of a collection."""
    p_values = p_against({label: measured[MAIN] for label, measured in values.items()}, next(iter(values)))
    return [
        [
            name,
            label,
            *(float(measured[m].mean()) for m in MEASURES),
            f"{p_values[label]:.4f}" if label in p_values else "",
        ]
        for label, measured in values.items()
    ]


def read(name: str, data: Path, split: str = "dev") -> TestSet:
    """A collection by its name."""
    if name in POOLS:
        return read_bioasq(name, data, split)
    return read_cranfield(data / name) if name == "cranfield" else READERS[name](data / FOLDERS[name])


def read_bioasq(name: str, data: Path, split: str) -> TestSet:
    """BioASQ's questions of a split with the gold documents that a pool of PubMed's records holds."""
    documents = list(read_corpus([data / "pubmed" / file for file in POOLS[name]]))
    questions = with_gold(gold_questions(data, split), {document.id for document in documents})
    qrels = {question.id: dict.fromkeys(question.documents or (), 1) for question in questions}
    return TestSet(f"BioASQ {split}, {name}", {question.id: question.body for question in questions}, documents, qrels)


if __name__ == "__main__":
    sys.exit(main())
