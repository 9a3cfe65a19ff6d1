"""Compare methods of finding weights on the same scored questions, with equal numbers of evaluations.

    mpir score --questions 5B*_golden.json --index INDEX --set score.gold_in_index=true --k 30 --output dev
    mpir score --questions 6B*_golden.json 7B*_golden.json 11B[12]_golden.json … --output test
    mpir score … --bundle experiments/bundles/start.json --output free-dev   (and free-test)
    python -m experiments.tuning.compare --dev dev --test test --free free-dev free-test --output runs/tuning

The untrained baselines, BM25 and the base encoder, are in the same tables (--free: the same questions and candidates,
scored by experiments/bundles/start.json).

Weights are tuned on dev: with folds (held-out dev figures), and once on all of it for the figures on test, which is
read only after everything is fitted (without --test, the fits are made and kept, and nothing is reported). OUTPUT gets
tables (tables.md), all results (results.json) and plots. Finished parts are kept in OUTPUT/parts.jsonl: after an
interrupt, repeat the command to resume.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from mpir.app.cli.value_options import at_least, file_path, positive

os.environ.setdefault("OMP_NUM_THREADS", "1")

from tqdm import tqdm

from experiments.common.baselines import BM25
from experiments.tuning.fits import FIXED, LEARNED, SEARCHES, SIZES, Fit, Job, fit_and_measure, load_free, made_by
from experiments.tuning.report import Report, across
from mpir.app.cli import guarded, script_parser
from mpir.core.weights import RANKS
from mpir.files.journal import Journal
from mpir.files.output_checks import Form, Output, are_figures, check_outputs, is_journal, is_picture
from mpir.files.write import atomic_write, write_json
from mpir.tune.cross_validation import split
from mpir.tune.dataset import Dataset
from mpir.tune.measures import MEASURES
from mpir.validation import check_choice


def main() -> int:
    """Read arguments and run."""
    parser = script_parser(__doc__)
    parser.add_argument("--dev", type=file_path, required=True, help="scored questions to tune on")
    parser.add_argument("--test", type=file_path, help="scored questions to report")
    parser.add_argument("--free", type=file_path, nargs="+", required=True, help="both, scored by the base encoder")
    parser.add_argument("--leave-out", nargs="*", default=[], metavar="ID", help="test questions not to measure")
    parser.add_argument("--output", type=file_path, required=True, help="folder for results")
    parser.add_argument("--measures", nargs="+", default=["document-map", "sentence-map"], help="systems to tune")
    parser.add_argument("--seeds", type=positive, default=3, help="seeds of every search on all of dev (%(default)s)")
    parser.add_argument("--calls", type=positive, default=15, help="evaluations for each half and loop (%(default)s)")
    parser.add_argument("--loops", type=positive, default=3, help="loops (%(default)s)")
    parser.add_argument(
        "--initial", type=positive, default=8, help="calls before a search uses its model (%(default)s)"
    )
    parser.add_argument(
        "--best-sentences", type=int, choices=range(1, RANKS + 1), default=RANKS, help="of a document (%(default)s)"
    )
    parser.add_argument("--folds", type=at_least(2), default=3, help="folds of dev (%(default)s)")
    parser.add_argument("--workers", type=positive, default=2, help="processes (%(default)s)")
    arguments = parser.parse_args()
    return guarded("tuning", lambda: run(arguments))


SUFFIXES = (".png", ".svg")
are_tables = re.compile(rb"### [^\n]*\n\n\|[^\n]*dev, fitted").match
"""Whether a file has the tables of a comparison."""


def run(arguments: argparse.Namespace) -> int:
    """Make all parts, then tables and pictures."""
    forms: dict[str, Form] = {"tables.md": are_tables, "results.json": are_figures, "parts.jsonl": is_journal}
    parts = ("best-so-far", "ablation", "learning-curve", "weights", "dependence", "shares")
    pictures = (f"{measure}-{part}{suffix}" for measure in arguments.measures for part in parts for suffix in SUFFIXES)
    forms |= dict.fromkeys(pictures, is_picture)
    check_outputs(Output("--output", arguments.output / name, form) for name, form in forms.items())
    job = Job(
        dev=arguments.dev,
        calls=arguments.calls,
        loops=arguments.loops,
        folds=arguments.folds,
        free=tuple(arguments.free),
        initial=arguments.initial,
        best_sentences=arguments.best_sentences,
    )
    dev = Dataset.load(job.dev)
    check(arguments, job, dev)
    fits = [fit_of for measure in arguments.measures for fit_of in all_parts(measure, arguments, dev)]
    journal = Journal(arguments.output / "parts.jsonl", made_by(job, dev))
    make(job, fits, journal, arguments.workers)
    if arguments.test is None:
        return 0
    tables, results = [], {}
    for measure in arguments.measures:
        report = Report(job, measure, journal, arguments)
        tables += report.tables()
        results[measure] = report.results
        report.draw(arguments.output)
    tables.append(across(job, arguments, journal))
    with atomic_write(arguments.output / "tables.md") as stream:
        stream.write("\n\n".join(tables) + "\n")
    write_json(
        arguments.output / "results.json", {"dev": dev.data, "test": Dataset.load(arguments.test).data, **results}
    )
    print("\n\n".join(tables))
    return 0


def check(arguments: argparse.Namespace, job: Job, dev: Dataset) -> None:
    """Refuse what would end the fits halfway, before anything is written."""
    for measure in arguments.measures:
        check_choice("--measures", measure, MEASURES)
    split(len(dev.questions), job.folds, 0)
    load_free(job.free, BM25)
    if arguments.test:
        Dataset.load(arguments.test)  # only to raise errors of an invalid folder early


def all_parts(measure: str, arguments: argparse.Namespace, dev: Dataset) -> list[Fit]:
    """Everything that is fitted for one measure."""
    seeds = range(arguments.seeds)
    folds = [*range(arguments.folds), None]
    fits = [Fit(measure, method, 0, fold) for method in (*FIXED, *LEARNED) for fold in folds]
    fits += [Fit(measure, method, seed, None) for method in SEARCHES for seed in seeds]
    fits += [Fit(measure, method, 0, fold) for method in SEARCHES for fold in range(arguments.folds)]
    return fits + ablations(measure, seeds, dev) + curve_parts(measure, seeds, dev)


def ablations(measure: str, seeds: Iterable[int], dev: Dataset) -> list[Fit]:
    """Each perspective, the context and BM25 left out; each reading of the context."""
    left_out = (*dev.columns.layout.sentences, "context", *dev.columns.layout.documents)
    changes: list[dict[str, str]] = [{"without": name} for name in left_out]
    changes += [{"context": context} for context in ("document", "fixpoint")]
    return [Fit(measure, "alternating Bayesian", seed, **change) for change in changes for seed in list(seeds)[:2]]


def curve_parts(measure: str, seeds: Iterable[int], dev: Dataset) -> list[Fit]:
    """Tuning on fewer questions, another sample for each seed."""
    sizes = [size for size in SIZES if size < len(dev.questions)]
    return [Fit(measure, "alternating Bayesian", seed, size=size) for size in sizes for seed in seeds]


def make(job: Job, fits: Sequence[Fit], journal: Journal, workers: int) -> None:
    """Fit the parts that are not in the journal, in several processes."""
    missing = [planned for planned in fits if planned.name not in journal.records]
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(fit_and_measure, job, planned): planned for planned in missing}
        for finished in tqdm(as_completed(running), total=len(missing), desc="fits", disable=not sys.stderr.isatty()):
            journal.add(running[finished].name, finished.result())


if __name__ == "__main__":
    sys.exit(main())
