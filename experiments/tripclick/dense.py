"""DOT's nearest neighbours among all documents, compared with BM25, on the collection of tripclick/rerank.py.

    python -m experiments.tripclick.dense --tripclick benchmark --checkpoint ENCODER --output runs/tripclick

This is the other table of the paper: without reranking, each system searches the whole collection for 1,000 documents.
The paper shows head queries, judged by DCTR. Vectors are searched exactly (faiss, Flat), which takes 3 KB per document
for an encoder of 768 dimensions. Options and stored files are those of rerank.py.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import closing

from tabulate import tabulate

from experiments.tripclick.groups import Group, read_groups
from experiments.tripclick.prepare import Prepared
from experiments.tripclick.ranking import limited
from experiments.tripclick.rerank import add_collection, check, title
from experiments.tripclick.training import make_ready, trained
from mpir.app.cli import guarded, script_parser
from mpir.errors import ArtefactError, format_value
from mpir.evaluate import evaluate_run
from mpir.files.corpora import corpus_fingerprint, read_corpus
from mpir.models.embedding_model import PooledEncoder
from mpir.models.perspectives import Perspective
from mpir.models.perspectives.bi_encoder import BiEncoderPerspective
from mpir.search import DenseIndex, LuceneIndex, Retriever
from mpir.search.dense import build_dense, dense_matches

DEPTH = 1000
MEASURES = {"Judged@10": "J@10", "nDCG@10": "nDCG@10", "RR@10": "MRR@10", "R@100": "R@100", "R@200": "R@200",
            "R@1000": "R@1000"}  # fmt: skip


def main() -> int:
    """Read arguments, train, index, search, print."""
    parser = script_parser(__doc__)
    add_collection(parser)
    return guarded("tripclick_dense", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """A row for each way of searching in each group; 0 is the exit status. Raises MpirError for a user's mistake."""
    check(arguments)
    prepared = make_ready(arguments)
    vectors = indexed(trained("dot", prepared, arguments), prepared, arguments)
    groups = limited(read_groups(prepared.folder, arguments.split), arguments.queries)
    with LuceneIndex(prepared.index_folder) as lexical, closing(vectors):
        rows = [
            [group.name, name, *(f"{value:.3f}" for value in measured(group, stage))]
            for group in groups
            for name, stage in (("BM25", lexical), ("DOT", vectors))
        ]
    shown_by = tabulate(rows, ["", "", *MEASURES.values()], tablefmt="github", disable_numparse=True)
    print(f"\n{title(arguments, f'The first {DEPTH:,} of all documents')}\n\n{shown_by}")
    return 0


def indexed(dot: Perspective, prepared: Prepared, arguments: argparse.Namespace) -> DenseIndex:
    """The vectors of all documents, made where they are not there. Raises ArtefactError for another kind of model."""
    if not isinstance(dot, BiEncoderPerspective):
        raise ArtefactError(f"{arguments.output}: {format_value(dot.name)} reads no text alone; remove its folder.")
    encoder, corpus = PooledEncoder(dot.encoder, dot.pooling), (prepared.data / "documents").resolve()
    folder, source = arguments.output / f"vectors-{arguments.seed}", corpus_fingerprint([corpus])
    if not dense_matches(folder, source, encoder.identity, factory="Flat", sentences=False):
        progress = sys.stderr.isatty()
        build_dense(read_corpus([corpus]), folder, encoder, texts=False, source=source, progress=progress)
    return DenseIndex(folder, encoder)


def measured(group: Group, stage: Retriever) -> list[float]:
    """Measure a first stage on a group's queries."""
    lists = stage.search_batch([query.body for query in group.queries], DEPTH)
    run = {
        query.id: {
            document.id: -float(rank) for rank, document in enumerate(documents)
        }  # ranks, to preserve the order of ties
        for query, documents in zip(group.queries, lists, strict=True)
        if documents
    }
    return list(evaluate_run(group.qrels, run, list(MEASURES)).values())


if __name__ == "__main__":
    sys.exit(main())
