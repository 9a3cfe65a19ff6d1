"""Reproduce the thesis: five checkpoints as bi-encoders on MS MARCO's passages, with three poolings, against BM25.

    python -m experiments.dense.msmarco --msmarco FOLDER --output runs/msmarco
    python -m experiments.dense.msmarco --output runs/msmarco-sample      (mpir's sample and a random encoder)

FOLDER holds MS MARCO's files as they are published, gzipped or not: collection.tsv (8.8 million passages),
queries.dev.small.tsv, qrels.dev.small.tsv (6,980 queries) and triples.train.small.tsv (texts). Each checkpoint is
trained on 2 million triples in batches of 16: max(d(q, p) − d(q, n) + 1, 0) with d = 1 − cosine, Adam with 2e-5, a
tenth of the steps to warm up, 128 tokens. Its vectors are searched exactly (faiss, Flat) for 1,000 passages. BM25 has
Anserini's defaults, which the thesis compares with; --cross-encoder reranks its first 100. Printed are means, MRR@10 by
the type of answer (answer_types.py), and tests of all pairs on MRR@10: randomisation and t-test with Holm's correction,
and the thesis's paired t-test over ten groups of queries. A flat index of 8.8 million vectors takes 27 GB of disk for
each of the fifteen. After an interrupt, repeat the command to resume.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments.common.provenance import content_of
from experiments.dense.answer_types import answer_type
from experiments.dense.bi_encoders import (
    MEASURES,
    QuerySet,
    Recipe,
    Reranked,
    Values,
    cached_values,
    found_by,
    searched,
    trained,
)
from experiments.dense.msmarco_sample import random_encoder, write_msmarco
from experiments.dense.tables import means_table, pairs_table, table, type_rows
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, positive, text_path
from mpir.errors import InputError
from mpir.files.corpora import corpus_fingerprint, read_corpus, read_qrels
from mpir.files.corpora.topics import read_topics
from mpir.models.perspectives.named_models import NamedModels
from mpir.reranking.reranker import Reranker
from mpir.search import LuceneIndex, build_index, index_matches

CHECKPOINTS = (
    "google-bert/bert-base-uncased",
    "FacebookAI/roberta-base",
    "albert/albert-base-v2",
    "distilbert/distilbert-base-uncased",
    "google/electra-base-discriminator",
)
POOLINGS = ("mean", "cls", "max")
FILES = ("collection.tsv", "queries.dev.small.tsv", "qrels.dev.small.tsv", "triples.train.small.tsv")
SHOWN = {name: MEASURES[name] for name in MEASURES if name != "R@100"}
MAIN = "RR@10"
K1, B = 0.9, 0.4
"""Anserini's defaults."""
BATCH = 16


def main() -> int:
    """Read arguments, train, index, search, print."""
    parser = script_parser(__doc__)
    parser.add_argument(
        "--msmarco", type=file_path, metavar="FOLDER", help="the collection's files (default: the sample)"
    )
    parser.add_argument(
        "--checkpoints", type=text_path, nargs="+", help="hub names or folders (the thesis's five; a random one)"
    )
    parser.add_argument("--cross-encoder", type=text_path, metavar="NAME|DIR", help="a reranker of BM25's first 100")
    parser.add_argument("--cross-output", type=int, metavar="N", help="its relevance output, where it has several")
    parser.add_argument("--cross-depth", type=positive, default=100, help="documents it reranks (%(default)s)")
    parser.add_argument("--poolings", nargs="+", choices=POOLINGS, default=POOLINGS, help="default: all")
    parser.add_argument("--triples", type=int, default=2_000_000, help="to train on (%(default)s)")
    parser.add_argument("--length", type=positive, default=128, help="most tokens of a text (%(default)s)")
    parser.add_argument("--output", type=file_path, default=Path("runs/msmarco"), help="%(default)s")
    parser.add_argument("--device", default="auto", help="%(default)s")
    return guarded("msmarco", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """One table; 0 is the exit status. Raises MpirError for a user's mistake."""
    if arguments.triples < BATCH:
        raise InputError(f"--triples is {arguments.triples}; expected at least a batch of {BATCH}.")
    if arguments.msmarco is None:
        arguments.msmarco = write_msmarco(arguments.output / "sample")
        arguments.checkpoints = arguments.checkpoints or [str(random_encoder(arguments.output / "encoder"))]
    collection, queries, qrels, triples = (published(arguments.msmarco, name) for name in FILES)
    judged = read_qrels(qrels)
    topics = {topic.id: topic.body for topic in read_topics(queries) if topic.id in judged}
    test = QuerySet(topics, {name: judged[name] for name in topics}, [collection])
    dev = {"questions": str(queries), "qrels": str(qrels), "corpus": [str(collection)], "sample": 1000}
    systems = bm25_values(arguments, test)
    for checkpoint in arguments.checkpoints or CHECKPOINTS:
        for pooling in arguments.poolings:
            name = Path(checkpoint).name
            recipe = Recipe(checkpoint, ("triplet",), [{"triples": str(triples)}], dev, settings(arguments), pooling)
            systems[f"{name}, {pooling}"] = values_of(arguments, test, recipe, arguments.output / f"{name}-{pooling}")
    types = [answer_type(question) for question in topics.values()]
    by_type = table(type_rows(types, systems, MAIN), ["MRR@10 by type", "queries", *systems])
    print("\n\n".join([means_table(systems, SHOWN), by_type, pairs_table(systems, MAIN)]))
    return 0


def published(folder: Path, name: str) -> Path:
    """Return a file of the collection, gzipped or not. Raises InputError for a missing file."""
    paths = [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
    if not paths:
        raise InputError(f"{folder / name}: there is no such file; expected MS MARCO's {', '.join(FILES)}.")
    return paths[0].resolve()


def settings(arguments: argparse.Namespace) -> dict[str, float]:
    """The thesis's numbers; a batch of 16 triples has 32 rows. Nothing is chosen on dev: it is looked at once."""
    steps = arguments.triples // BATCH
    numbers = {"batch_size": 2 * BATCH, "learning_rate": 2e-5, "weight_decay": 0.0, "warmup": 0.1}
    return numbers | {"max_length": arguments.length, "max_steps": steps, "evaluate_every": steps, "save_every": 5000}


def values_of(arguments: argparse.Namespace, test: QuerySet, recipe: Recipe, folder: Path) -> Values:
    """Measure a bi-encoder."""

    def make() -> Values:
        best = trained(recipe, arguments.msmarco, folder, device=arguments.device)
        index = folder / "index"
        return searched(test, best, recipe.pooling, index, length=arguments.length, device=arguments.device)

    start = [recipe.checkpoint, content_of(recipe.checkpoint)]
    identity = [*start, recipe.pooling, dict(recipe.settings), corpus_fingerprint(test.corpus)]
    return cached_values(folder / "values.json", identity, make)


def bm25_values(arguments: argparse.Namespace, test: QuerySet) -> dict[str, Values]:
    """Measure BM25 with Anserini's defaults, and its reranking by a cross-encoder."""
    output, source = arguments.output, corpus_fingerprint(test.corpus)
    if not index_matches(output / "bm25", source):
        build_index(read_corpus(test.corpus), output / "bm25", source=source, progress=True)
    with LuceneIndex(output / "bm25", k1=K1, b=B) as index:
        systems = {"BM25": found_by(index, test)}
        if name := arguments.cross_encoder:
            options = {} if arguments.cross_output is None else {"output": arguments.cross_output}
            models = NamedModels(names=(name,), only=True, options=options)
            with Reranker(models=models, device=arguments.device) as reranker:
                systems["BM25 + cross-encoder"] = found_by(Reranked(index, reranker, arguments.cross_depth), test)
    return systems


if __name__ == "__main__":
    sys.exit(main())
