"""One model trained in several ways, in one table: by recipes of negatives and from several checkpoints.

    python -m experiments.tripclick.variants                                      (a sample written for mpir)
    python -m experiments.tripclick.variants --tripclick benchmark --checkpoint ENCODER --model cat \\
        --recipes above-click filtered --output runs/tripclick
    python -m experiments.tripclick.variants --tripclick benchmark --checkpoint SCIBERT --further PUBMEDBERT BERT \\
        --model cat --recipes filtered --runs BM25F=bm25f.trec --output runs/tripclick

`above-click` is after the collection's own negatives, results that were shown above the click: its files do not have
the order in which they were shown, so BM25's stands in for it. `filtered` are the paper's, of BM25's 500 best without
the relevant pool; `unfiltered` leaves that pool in; `random` are documents drawn by chance.
All else is the same: model, steps, seed. --runs adds rows of systems that are not trained here from their TREC runs.
All pairs of systems are tested over the queries of all groups. Options and kept files are those of rerank.py.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path

from experiments.common.provenance import check_made_by
from experiments.tripclick.groups import Group, read_groups
from experiments.tripclick.prepare import Prepared
from experiments.tripclick.ranking import MAIN, NAMES, Systems, by_depth, columns, limited, scored, summary
from experiments.tripclick.rerank import add_collection, add_reranking, check, reranking, title
from experiments.tripclick.training import make_ready, sample_triples, trained
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import text_path
from mpir.errors import InputError
from mpir.evaluate.comparison_tables import describe
from mpir.evaluate.ir import compare_runs
from mpir.files.corpora.trec import read_run
from mpir.models.perspectives import Perspective, ScoreCache
from mpir.search import LuceneIndex

RECIPES = ("filtered", "unfiltered", "above-click", "random")
LINKED = ("questions.tsv", "documents", "dev.jsonl")


def main() -> int:
    """Read arguments, train each variant, rerank, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--model", choices=list(NAMES), default="dot", help="(%(default)s)")
    parser.add_argument(
        "--recipes", nargs="+", choices=RECIPES, default=RECIPES[:2], help="default: filtered unfiltered"
    )
    parser.add_argument(
        "--further", type=text_path, nargs="*", default=[], metavar="NAME|DIR", help="further encoders to start from"
    )
    parser.add_argument(
        "--runs", type=text_path, nargs="*", default=[], metavar="NAME=FILE", help="rows from TREC runs"
    )
    add_collection(parser)
    add_reranking(parser)
    return guarded("tripclick_variants", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """A row for each variant; 0 is the exit status. Raises MpirError for a user's mistake."""
    check(arguments)
    runs = dict(read_named(text) for text in arguments.runs)
    prepared = make_ready(arguments)
    models = dict(train_variants(prepared, arguments))
    with closing(ScoreCache(arguments.output / "scores")) as cache, LuceneIndex(prepared.index_folder) as index:
        groups = limited(read_groups(prepared.folder, arguments.split), arguments.queries)
        rows = [scored(group, index, models, arguments.depth, cache, words=arguments.words) for group in groups]
    systems = columns(rows) | {name: of_groups(run, groups) for name, run in runs.items()}
    about = title(arguments, reranking(arguments))
    print(f"\n{NAMES[arguments.model]}. {about}\n\n{summary(groups, systems)}\n\n{tested(groups, systems)}")
    print(f"\nnDCG@10, mean of the groups, by the number of documents reranked:\n\n{by_depth(groups, rows, columns)}")
    return 0


def train_variants(prepared: Prepared, arguments: argparse.Namespace) -> Iterator[tuple[str, Perspective]]:
    """Yield each variant's name and its model."""
    for recipe, checkpoint in product(arguments.recipes, [prepared.encoder, *arguments.further]):
        folder = arguments.output / "variants" / recipe
        own = replace(prepared, data=own_data(prepared, folder / "data"), encoder=checkpoint)
        made_by = {"collection": own.folder.name, "triples": arguments.triples, "recipe": recipe}
        check_made_by(own.data, made_by, finished="triples.tsv")
        if not (own.data / "triples.tsv").is_file():
            sample_triples(own, *options_of(recipe, own), "--limit", arguments.triples)
        into = argparse.Namespace(**{**vars(arguments), "output": folder / Path(checkpoint).name})
        name = f"{recipe}, {Path(checkpoint).name}" if arguments.further else recipe
        yield name, trained(arguments.model, own, into)


def options_of(recipe: str, prepared: Prepared) -> tuple[object, ...]:
    """The options of `mpir data triples` for a recipe."""
    if recipe == "random":
        return "--random", "--corpus", prepared.data / "documents"
    return "--index", prepared.index_folder, "--set", f"triples.recipe={recipe}"


def own_data(prepared: Prepared, folder: Path) -> Path:
    """A folder of training data with links to all but the triples."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in LINKED:
        (folder / name).unlink(missing_ok=True)  # a link of a folder that was moved since leads nowhere
        (folder / name).symlink_to((prepared.data / name).resolve())
    return folder


def read_named(text: str) -> tuple[str, dict[str, dict[str, float]]]:
    """The name and the run of NAME=FILE."""
    name, equals, path = text.partition("=")
    if not equals:
        raise InputError(f"--runs: {text!r} is given; expected NAME=FILE.")
    return name, read_run(path)


def of_groups(run: dict[str, dict[str, float]], groups: list[Group]) -> list[dict[str, dict[str, float]]]:
    """A run's rankings of each group's queries."""
    return [{query: run[query] for query in group.qrels if query in run} for group in groups]


def tested(groups: list[Group], systems: Systems) -> str:
    """All pairs of systems over the queries of all groups."""
    qrels = {query: grades for group in groups for query, grades in group.qrels.items()}
    merged = {
        name: {query: scores for group_run in runs for query, scores in group_run.items()}
        for name, runs in systems.items()
    }
    return describe(compare_runs(qrels, merged, [MAIN]))


if __name__ == "__main__":
    sys.exit(main())
