"""TripClick from clicks to an ensemble: TK, ColBERT, a bi-encoder and a cross-encoder rerank BM25's best.

    python experiments/tripclick.py                              (a sample written for mpir: the whole way in small)
    python experiments/tripclick.py --tripclick benchmark --checkpoint ENCODER --output runs/tripclick

BENCHMARK is the collection's folder as it is unpacked, in either packaging (documents/ or docs.tsv, topics/, qrels/).
BM25's 500 best for every training query give triples (data_scripts/triples.py); each model is trained on them
by its mixture (experiments/mixtures/tripclick-*.json) and reranks BM25's 200 best of the queries of a split. After
Hofstätter et al., "Establishing Strong Baselines for TripClick Health Retrieval" (2022); see docs/tripclick.md. TK
begins from the word vectors of --vectors, or from some that are trained on the documents.

Everything is kept in OUTPUT and not made again: the same command goes on where it was interrupted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tripclick_prepare import Prepared, prepare, prepare_sample
from tripclick_ranking import NAMES, Scored, ensembles, runs_of, scored, tuned

from mpir.cli import INTERRUPTED, guarded
from mpir.cli import main as mpir
from mpir.errors import InputError, MpirError
from mpir.perspectives import Perspective, ScoreCache, open_bundle
from mpir.retrieve import LuceneIndex
from mpir.tasks.tripclick import read_groups, table

ROOT = Path(__file__).parents[1]
SMALL = ["--max-steps", "60", "--learning-rate", "2e-3", "--evaluate-every", "30", "--precision", "fp32", "--quiet"]
"""What is other than in the mixtures for a sample on any machine."""


def main() -> int:
    """Read arguments, prepare, train, rerank, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tripclick", type=Path, metavar="BENCHMARK", help="the collection (default: the sample)")
    parser.add_argument("--checkpoint", help="encoder to start from, with --tripclick: a folder or a hub name")
    parser.add_argument("--vectors", type=Path, help="word vectors for TK (default: trained on the documents)")
    parser.add_argument("--output", type=Path, default=Path("runs/tripclick"), help="%(default)s")
    parser.add_argument("--split", choices=("val", "test"), default="test", help="what is reported (%(default)s)")
    parser.add_argument("--depth", type=int, default=200, help="documents to rerank (%(default)s)")
    parser.add_argument("--triples", type=int, default=10_000_000, help="at most (%(default)s)")
    parser.add_argument("--device", default="auto", help="%(default)s")
    return guarded("tripclick", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """The whole way; 0 is the exit status. Raises MpirError for a user's mistake."""
    if arguments.tripclick and not arguments.checkpoint:
        raise InputError("--tripclick wants an encoder to start from; name one with --checkpoint.")
    if arguments.depth < 1:
        raise InputError(f"--depth is {arguments.depth}; expected at least 1.")
    sample = arguments.tripclick is None
    prepared = prepare_sample(arguments.output) if sample else prepare(arguments)
    if not (prepared.data / "triples.tsv").is_file():
        _triples(prepared, arguments.triples)
    perspectives = [_trained(name, prepared, arguments, SMALL if sample else []) for name in NAMES]
    groups, held = (read_groups(prepared.folder, split) for split in (arguments.split, "val"))
    with closing(ScoreCache(arguments.output / "scores")) as cache, LuceneIndex(prepared.index_folder) as index:
        found, dev = (
            [scored(group, index, perspectives, arguments.depth, cache) for group in part] for part in (groups, held)
        )
    title = "a sample written for mpir, which says nothing about quality" if sample else str(arguments.tripclick)
    print(f"\nReranking BM25's {arguments.depth} best, split {arguments.split}: {title}.\n")
    print(table(groups, _systems(found, tuned(held, dev))))
    return 0


def _systems(found: list[Scored], weights: list[float]) -> dict[str, list[dict[str, dict[str, float]]]]:
    """Every column alone, and the ensembles: a run for each group."""
    alone = {"BM25": 0} | {label: place for place, label in enumerate(NAMES.values(), 1)}
    systems = {
        name: [runs_of(part, [row[:, place] for row in part.scores]) for part in found] for name, place in alone.items()
    }
    per_group = [ensembles(part, weights) for part in found]
    return systems | {name: [one[name] for one in per_group] for name in per_group[0]}


def _triples(prepared: Prepared, number: int) -> None:
    """Sample the training triples by the script that does so. Raises MpirError where it ends with an error."""
    qrels = sorted((prepared.folder / "qrels").glob("qrels.raw.*.train.txt*"))
    command = [sys.executable, ROOT / "data_scripts/triples.py", "--index", prepared.index_folder, "--qrels", *qrels]
    files = ["--questions", prepared.data / "questions.tsv", "--output", prepared.data / "triples.tsv"]
    done = subprocess.run([str(part) for part in (*command, *files, "--number", number)], check=False)
    if done.returncode:
        raise MpirError(f"{prepared.data}: the triples could not be sampled; see the message above.")


def _trained(name: str, prepared: Prepared, arguments: argparse.Namespace, options: list[str]) -> Perspective:
    """A model's perspective, trained unless it has been."""
    folder = arguments.output / name
    if not (folder / "bundle/bundle.json").is_file():
        mixture = ROOT / f"experiments/mixtures/tripclick-{name}.json"
        start = prepared.words if name == "tk" else prepared.encoder
        files = ["--mixture", mixture, "--data", prepared.data, "--output", folder, "--bundle", folder / "bundle"]
        command = ["train", *files, "--checkpoint", start, "--device", arguments.device, *options]
        status = mpir([str(part) for part in command])
        if status == INTERRUPTED:
            raise KeyboardInterrupt
        if status:
            raise MpirError(f"{folder}: {name} could not be trained; see the message above.")
    return open_bundle(folder / "bundle").perspectives(device=arguments.device)[0]


if __name__ == "__main__":
    sys.exit(main())
