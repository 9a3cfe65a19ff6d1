"""Which negatives to learn from: a model trained by each recipe, on the collection of experiments/tripclick.py.

    python experiments/tripclick_negatives.py --bioasq DATA --checkpoint ENCODER --output runs/standin

random      documents drawn from the whole collection
BM25-500    of BM25's 500 best, everything in the relevant pool out: the paper's
BM25-20     the same of BM25's 20 best
unfiltered  of BM25's 20 best with the relevant pool left in, all but the positive itself
mined       of the 20 that the model learned from BM25-500 puts first among BM25's 200 best, the relevant pool out
above-click of BM25's 500 best, those above a relevant one: the collection's own way, for --recipes only, since a search
            that has every click at the first place leaves nothing above it

Everything else is the same for all: up to 20 negatives for each positive, steps, seed. One table says whether filtering
helps, and whether it matters how many documents are reranked. Options are those of tripclick.py; so is what is kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from reuse import check_made_by
from tripclick import add_collection, add_reranking, check, reranking, title
from tripclick_prepare import Prepared
from tripclick_ranking import NAMES, by_depth, columns, limited, scored, summary, unseen
from tripclick_training import make_ready, sample_triples, trained

from mpir.cli import guarded
from mpir.corpora.trec import write_run
from mpir.corpora.tripclick import read_topics
from mpir.errors import InputError
from mpir.perspectives import Perspective, ScoreCache
from mpir.retrieve import LuceneIndex
from mpir.tasks.tripclick import Group, read_groups

SEARCHED = 200
"""Candidates among which hard ones are mined."""
OPTIONS = {
    "random": ("--random", "--depth", 500),
    "BM25-500": ("--depth", 500),
    "BM25-20": ("--depth", 20),
    "unfiltered": ("--depth", 20, "--recipe", "unfiltered"),
    "mined": ("--depth", 20),
    "above-click": ("--depth", 500, "--recipe", "above-click"),
}
"""What each recipe asks of data_scripts/triples.py; mined ones need the model of BM25-500, which comes before."""


def main() -> int:
    """Read arguments, train by each recipe, rerank, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=list(NAMES), default="tk", help="(%(default)s)")
    usual = [name for name in OPTIONS if name != "above-click"]
    parser.add_argument(
        "--recipes", nargs="+", choices=list(OPTIONS), default=usual, help=f"default: {' '.join(usual)}"
    )
    add_collection(parser)
    add_reranking(parser)
    return guarded("tripclick_negatives", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """A row for each recipe; 0 is the exit status. Raises MpirError for a user's mistake."""
    check(arguments)
    if "mined" in arguments.recipes and "BM25-500" not in arguments.recipes:
        raise InputError("--recipes: mined negatives are found by the model that BM25-500 gives; name both.")
    prepared = make_ready(arguments)
    models: dict[str, Perspective] = {}
    with closing(ScoreCache(arguments.output / "scores")) as cache, LuceneIndex(prepared.index_folder) as index:
        for recipe in (name for name in OPTIONS if name in arguments.recipes):
            own = _prepared(prepared, recipe, arguments)
            check_made_by(own.data, _made_by(recipe, own, arguments), finished="triples.tsv")
            if not (own.data / "triples.tsv").is_file():
                _sample(own, recipe, models, index, arguments)
            models[recipe] = trained(arguments.model, own, _into(arguments, own))
        groups = limited(read_groups(prepared.folder, arguments.split), arguments.queries)
        found = [scored(one, index, models, arguments.depth, cache, words=arguments.words) for one in groups]
    if arguments.unseen:
        groups, found = unseen(groups, found, read_groups(prepared.folder, "train"))
    about = title(arguments, reranking(arguments))
    print(f"\nNegatives for {NAMES[arguments.model]}. {about}\n\n{summary(groups, columns(found))}")
    print(f"\nnDCG@10, mean of the groups, by the number of documents reranked:\n\n{by_depth(groups, found, columns)}")
    return 0


def _prepared(prepared: Prepared, recipe: str, arguments: argparse.Namespace) -> Prepared:
    """The same data in a folder of the recipe's own, for triples of its own."""
    data = arguments.output / "negatives" / recipe / "data"
    data.mkdir(parents=True, exist_ok=True)
    for name in ("questions.tsv", "documents", "dev.jsonl"):
        (data / name).unlink(missing_ok=True)  # a link of a folder that was moved since leads nowhere
        (data / name).symlink_to((prepared.data / name).resolve())
    return replace(prepared, data=data)


def _made_by(recipe: str, own: Prepared, arguments: argparse.Namespace) -> dict[str, object]:
    """What the triples of a recipe depend on."""
    model = {"model": arguments.model} if recipe == "mined" else {}
    return {"collection": own.folder.name, "triples": arguments.triples, "options": OPTIONS[recipe], **model}


def _into(arguments: argparse.Namespace, own: Prepared) -> argparse.Namespace:
    return argparse.Namespace(**{**vars(arguments), "output": own.data.parent})


def _sample(
    own: Prepared, recipe: str, models: dict[str, Perspective], index: LuceneIndex, arguments: argparse.Namespace
) -> None:
    """The triples of a recipe."""
    source: Sequence[object] = ("--index", own.index_folder)
    if recipe == "random":
        source = ("--corpus", own.data / "documents")
    if recipe == "mined":
        source = ("--run", _run_of(models["BM25-500"], own, index, arguments))
    sample_triples(own, *source, *OPTIONS[recipe], "--number", arguments.triples)


def _run_of(model: Perspective, own: Prepared, index: LuceneIndex, arguments: argparse.Namespace) -> Path:
    """BM25's best for every training query, in the order of a model, in a file."""
    path, queries = own.data / "mined.run", read_topics(own.data / "questions.tsv")
    with closing(ScoreCache(own.data / "scores")) as cache:
        group = Group("mining", queries, {})
        found = scored(group, index, {"model": model}, SEARCHED, cache, words=arguments.words)
    write_run(path, columns([found])["model"][0])
    return path


if __name__ == "__main__":
    sys.exit(main())
