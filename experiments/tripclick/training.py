"""Sample triples for experiments/tripclick/rerank.py and train a model for each mixture, unless already done."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from experiments.common.provenance import check_made_by, content_of
from experiments.tripclick.prepare import Prepared, prepare, prepare_sample
from mpir.app.cli import INTERRUPTED
from mpir.app.cli import main as mpir
from mpir.errors import MpirError
from mpir.files.read import read_json
from mpir.models.perspectives import Perspective, open_bundle

ROOT = Path(__file__).parents[2]
SMALL = {"max_steps": 60, "learning_rate": 2e-3, "evaluate_every": 30, "precision": "fp32"}
"""Settings that differ from the mixtures for a sample."""


def make_ready(arguments: argparse.Namespace) -> Prepared:
    """Make the collection's index and triples, reusing existing ones."""
    sample = not (arguments.tripclick or arguments.bioasq)
    prepared = prepare_sample(arguments.output) if sample else prepare(arguments)
    made_by = {"collection": prepared.folder.name, "triples": arguments.triples}
    check_made_by(prepared.data, made_by, finished="triples.tsv")
    if not (prepared.data / "triples.tsv").is_file():
        sample_triples(prepared, "--index", prepared.index_folder, "--limit", arguments.triples)
    return prepared


def sample_triples(prepared: Prepared, *options: object) -> None:
    """Sample the training triples. Raises MpirError where it ends with an error."""
    qrels = sorted((prepared.folder / "qrels").glob("qrels.raw.*.train.txt*"))
    files = ["--questions", prepared.data / "questions.tsv", "--output", prepared.data / "triples.tsv"]
    run_step(
        mpir,
        "data",
        "triples",
        *options,
        "--qrels",
        *qrels,
        *files,
        failed=f"{prepared.data}: the triples could not be sampled",
    )


def run_step(command: Callable[[list[str]], int], *options: object, failed: str) -> None:
    """Run a command of mpir's in this process. Raises MpirError, which begins with `failed`, where it ends with one."""
    status = command([str(option) for option in options])
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status:
        raise MpirError(f"{failed}; see the message above.")


def trained(name: str, prepared: Prepared, arguments: argparse.Namespace) -> Perspective:
    """A model's perspective, trained unless it has been. Raises InputError where that was done with other settings."""
    folder = arguments.output / (name if arguments.seed == 1 else f"{name}-{arguments.seed}")
    mixture = ROOT / f"experiments/mixtures/tripclick-{name}.json"
    start, options = prepared.words.get(name, prepared.encoder), _settings(mixture, prepared, arguments)
    data = {"collection": prepared.folder.name, "triples": arguments.triples, "mixture": read_json(mixture)}
    begun = {"checkpoint": Path(start).name, "content of the checkpoint": content_of(start)}
    check_made_by(folder, {**data, **begun, "options": options}, finished="bundle/bundle.json")
    if not (folder / "bundle/bundle.json").is_file():
        files = ["--mixture", mixture, "--data", prepared.data, "--output", folder, "--bundle", folder / "bundle"]
        usual = ["train", *files, "--checkpoint", start, "--device", arguments.device]
        run_step(mpir, *usual, *options, failed=f"{folder}: {name} could not be trained")
    return open_bundle(folder / "bundle").perspectives(device=arguments.device)[0]


def _settings(mixture: Path, prepared: Prepared, arguments: argparse.Namespace) -> list[object]:
    """Return options of `mpir train` that differ from the mixture."""
    settings = {"seed": arguments.seed, **(SMALL if prepared.is_sample else {})}
    published = settings.get("learning_rate", read_json(mixture)["settings"]["learning_rate"])
    settings["learning_rate"] = arguments.faster * published
    words = [word for name, value in settings.items() for word in ("--set", f"train.{name}={value}")]
    return [*words, *(["--quiet"] if prepared.is_sample else []), *arguments.train]
