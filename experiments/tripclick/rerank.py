"""TripClick from clicks to an ensemble: TK, ColBERT, a bi-encoder and a cross-encoder rerank BM25's results.

    python -m experiments.tripclick.rerank    (a sample written for mpir)
    python -m experiments.tripclick.rerank --tripclick benchmark --checkpoint ENCODER --output runs/tripclick
    python -m experiments.tripclick.rerank --bioasq DATA --checkpoint ENCODER --output runs/standin
    python -m experiments.tripclick.rerank … --models cat --also runs/scibert/cat/bundle runs/pubmed/cat/bundle

BENCHMARK is the collection's unpacked folder, in either packaging (documents/ or docs.tsv, topics/, qrels/).
BM25's 500 best for every training query give triples (`mpir data triples`); each model is trained on them by its
mixture (experiments/mixtures/tripclick-*.json) and reranks BM25's 200 best of the queries of a split. After Hofstätter
et al., "Establishing Strong Baselines for TripClick Health Retrieval" (2022); see docs/guides/tripclick.md. TK starts
from the word vectors of --vectors, or from vectors trained on the documents. --bioasq makes a stand-in for the
collection from BioASQ's questions and PubMed's abstracts (bioasq.py). With --also, models from other checkpoints join
the columns and ensembles; the paper's ensemble has three CAT models.

Everything is kept in OUTPUT and reused: after an interrupt, repeat the command to resume; it may also add models,
queries and documents. --queries, --words, --depth and --train reduce the work for small machines:

    … --queries 20 --depth 50 --words 60 --faster 10 --train --set train.max_steps=100 --set train.batch_size=32
"""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path

from experiments.tripclick.groups import read_groups, table
from experiments.tripclick.ranking import FOUR, NAMES, by_depth, limited, scored, summary, systems, tuned, unseen
from experiments.tripclick.training import make_ready, trained
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path
from mpir.errors import InputError
from mpir.models.perspectives import ScoreCache, open_bundle
from mpir.search import LuceneIndex
from mpir.validation import optional_whole_number, real_number, whole_number


def main() -> int:
    """Read arguments, prepare, train, rerank, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--models", nargs="*", choices=list(NAMES), default=FOUR, help=f"default: {' '.join(FOUR)}")
    parser.add_argument("--also", nargs="*", default=[], metavar="BUNDLE", help="models trained elsewhere")
    add_collection(parser)
    add_reranking(parser)
    return guarded("tripclick", lambda: run(parser.parse_args()))


def add_collection(parser: argparse.ArgumentParser) -> None:
    """Add options of training and reporting."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--tripclick", type=file_path, metavar="BENCHMARK", help="the collection (default: the sample)")
    source.add_argument(
        "--bioasq", type=file_path, metavar="DATA", help="the folder with bioasq/ and pubmed/: a stand-in"
    )
    parser.add_argument("--reported", choices=("dev", "test"), default="dev", help="of BioASQ (%(default)s)")
    parser.add_argument(
        "--checkpoint", type=text_path, help="encoder to start from, except for the sample: a folder or a hub name"
    )
    parser.add_argument("--vectors", type=file_path, help="word vectors for TK (default: trained on the documents)")
    parser.add_argument("--output", type=file_path, default=Path("runs/tripclick"), help="%(default)s")
    parser.add_argument("--split", choices=("val", "test"), default="test", help="split to report (%(default)s)")
    parser.add_argument("--queries", type=int, help="report only so many queries per group (default: all)")
    parser.add_argument("--dev-depth", type=int, default=50, help="to choose a checkpoint by (%(default)s)")
    parser.add_argument("--triples", type=int, default=10_000_000, help="at most (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of training (%(default)s)")
    parser.add_argument(
        "--faster", type=float, default=1.0, help="factor on the published learning rates (%(default)s)"
    )
    parser.add_argument("--device", default="auto", help="%(default)s")
    parser.add_argument("--train", nargs=argparse.REMAINDER, default=[], help="all further options go to `mpir train`")


def add_reranking(parser: argparse.ArgumentParser) -> None:
    """Add options of reranking."""
    parser.add_argument("--held-out", type=int, help="validation queries to tune the blend on (default: as --queries)")
    parser.add_argument("--unseen", action="store_true", help="leave out documents relevant to training questions")
    parser.add_argument("--depth", type=int, default=200, help="documents to rerank (%(default)s)")
    parser.add_argument(
        "--words", type=int, help="read only the first N words of a document (default: all, in passages)"
    )


def run(arguments: argparse.Namespace) -> int:
    """The whole way; 0 is the exit status. Raises MpirError for a user's mistake."""
    check(arguments)
    also = {name: open_bundle(name).perspectives(device=arguments.device)[0] for name in arguments.also}
    prepared = make_ready(arguments)
    perspectives = {name: trained(name, prepared, arguments) for name in arguments.models} | also
    splits = (arguments.split, arguments.queries), ("val", arguments.held_out or arguments.queries)
    groups, held = (limited(read_groups(prepared.folder, split), limit) for split, limit in splits)
    with closing(ScoreCache(arguments.output / "scores")) as cache, LuceneIndex(prepared.index_folder) as index:
        scored_sets, dev = (
            [
                scored(group, index, perspectives, arguments.depth, cache, words=arguments.words)
                for group in groups_of_split
            ]
            for groups_of_split in (groups, held)
        )
    weights = tuned(held, dev)
    if arguments.unseen:
        groups, scored_sets = unseen(groups, scored_sets, read_groups(prepared.folder, "train"))
    rows = systems(scored_sets, weights)
    depths = by_depth(groups, scored_sets, lambda splits: systems(splits, weights))
    about = title(arguments, reranking(arguments))
    print(f"\n{about}\n\n{table(groups, rows)}\n\nMeans of the groups:\n\n{summary(groups, rows)}")
    print(f"\nnDCG@10, mean of the groups, by the number of documents that are reranked:\n\n{depths}")
    return 0


def check(arguments: argparse.Namespace) -> None:
    """Refuse what cannot be done before anything is. Raises InputError."""
    if (arguments.tripclick or arguments.bioasq) and not arguments.checkpoint:
        option = "--tripclick" if arguments.tripclick else "--bioasq"
        raise InputError(f"{option} wants an encoder to start from; name one with --checkpoint.")
    for name in ("depth", "dev_depth", "queries", "held_out", "words", "triples"):
        optional_whole_number(f"--{name.replace('_', '-')}", getattr(arguments, name, None))
    whole_number("--seed", arguments.seed, minimum=0)
    real_number("--faster", arguments.faster, "a number above 0", lambda value: value > 0)


def title(arguments: argparse.Namespace, subject: str) -> str:
    """Return a table's title with its settings."""
    subject = f"{subject}, split {arguments.split}, seed {arguments.seed}"
    if arguments.tripclick:
        return f"{subject}: {arguments.tripclick}."
    if not arguments.bioasq:
        return f"{subject}: a sample written for mpir, which says nothing about quality."
    how = " ".join(arguments.train) or "the mixtures' settings"
    return (
        f"{subject}: stand-in, BioASQ's {arguments.reported} questions and PubMed's abstracts; "
        f"{arguments.queries or 'all'} questions of each group; learning rates × {arguments.faster:g}, {how}."
    )


def reranking(arguments: argparse.Namespace) -> str:
    """Return the reranked candidates, for a title."""
    but = ", without the documents that are relevant to a training question" if arguments.unseen else ""
    return f"Reranking BM25's {arguments.depth} best by {arguments.words or 'all'} words of each{but}"


if __name__ == "__main__":
    sys.exit(main())
