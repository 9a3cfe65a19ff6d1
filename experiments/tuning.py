"""Compare ways to find the weights on the same scored questions, at equal numbers of evaluations.

    mpir score --questions 5B*_golden.json --index INDEX --gold-in-index --candidates 30 --output dev
    mpir score --questions 6B*_golden.json 7B*_golden.json 11B[12]_golden.json … --output test
    mpir score … --bundle experiments/bundles/start.json --no-agreement --output free-dev    (and free-test)
    python experiments/tuning.py --dev dev --test test --free free-dev free-test --output runs/tuning

What is free, BM25 and the start encoder as it is, stands in the same tables (--free: the same questions and candidates,
scored by experiments/bundles/start.json).

Weights are tuned on dev: with folds (held-out dev figures), and once on all of it for the figures on test, which is
read only after everything is fitted (without --test, the fits are made and kept, and nothing is reported). OUTPUT gets
tables (tables.md), every figure (results.json) and pictures. Finished parts are kept in OUTPUT/parts.jsonl: after an
interrupt the same command goes on.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from mpir.cli.numbers import at_least, positive

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from free_baselines import BM25, COSINE, SUMMED, free_scores
from tabulate import tabulate
from tqdm import tqdm

from mpir.cli import guarded
from mpir.errors import InputError
from mpir.evaluate import bootstrap_interval, holm, randomisation_test
from mpir.io.journal import Journal
from mpir.io.write import atomic_write, write_json
from mpir.perspectives import open_bundle
from mpir.plots import tuning as plots
from mpir.rank.columns import Floats, Layout
from mpir.rank.weights import PUBLISHED, Weights
from mpir.tune.adoption import split
from mpir.tune.alternating import Plan, search
from mpir.tune.dataset import Dataset
from mpir.tune.effects import dependence, top_shares
from mpir.tune.learned import LearnedRanker
from mpir.tune.measures import MEASURES
from mpir.tune.objective import Objective
from mpir.tune.optimiser import GridSearch, RandomSearch
from mpir.tune.space import Space
from mpir.tune.submissions import Submissions
from mpir.values import one_of

Ranker = Callable[[Objective], Submissions]
Free = Mapping[str, tuple[Floats, Floats, list[str]]]
SEARCHES = ("random search", "grid search", "joint Bayesian", "alternating Bayesian")
LEARNED = ("logistic regression", "feed-forward net")
FREE = (BM25, COSINE, SUMMED)
SHIPPED = "weights that ship"
"""The default bundle's, tuned on dev for documents and sentences at once: what is held out of dev is none of these."""
FIXED = (*FREE, SHIPPED, "equal weights", "equal shares", "paper's weights", "best single perspective")
REFERENCE = "equal weights"
VERSION = 8
"""Of the official measures: the latest in which every question counts."""
SIZES = (10, 20, 40, 80)


@dataclass(frozen=True)
class Part:
    """One fit: `held_out` is the number of the fold it leaves out and is measured on, or None to fit on all of dev.

    `size` fits on that many random questions of dev; `without` leaves a weight at 0.
    """

    measure: str
    method: str
    seed: int = 0
    held_out: int | None = None
    context: str = "bm25"
    without: str = ""
    size: int | None = None

    @property
    def name(self) -> str:
        """What the part goes by in the journal."""
        return repr(self)


@dataclass(frozen=True)
class Job:
    """What every part has in common."""

    dev: Path
    calls: int
    loops: int
    folds: int
    free: tuple[Path, ...]


def main() -> int:
    """Read arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dev", type=Path, required=True, help="scored questions to tune on")
    parser.add_argument("--test", type=Path, help="scored questions to report")
    parser.add_argument("--free", type=Path, nargs="+", required=True, help="both, scored by the start encoder")
    parser.add_argument("--leave-out", nargs="*", default=[], metavar="ID", help="test questions not to measure")
    parser.add_argument("--output", type=Path, required=True, help="folder for results")
    parser.add_argument("--measures", nargs="+", default=["document-map", "sentence-map"], help="systems to tune")
    parser.add_argument("--seeds", type=positive, default=3, help="seeds of every search on all of dev (%(default)s)")
    parser.add_argument("--calls", type=positive, default=15, help="evaluations for each half and loop (%(default)s)")
    parser.add_argument("--loops", type=positive, default=3, help="loops (%(default)s)")
    parser.add_argument("--folds", type=at_least(2), default=3, help="folds of dev (%(default)s)")
    parser.add_argument("--workers", type=positive, default=2, help="processes (%(default)s)")
    arguments = parser.parse_args()
    return guarded("tuning", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Make all parts, then tables and pictures."""
    job = Job(arguments.dev, arguments.calls, arguments.loops, arguments.folds, tuple(arguments.free))
    dev = Dataset.load(job.dev)
    check(arguments, job, dev)
    parts = [part for measure in arguments.measures for part in all_parts(measure, arguments, dev)]
    header = {"dev": dev.data, "job": repr(replace(job, dev=Path(), free=()))}
    journal = Journal(arguments.output / "parts.jsonl", header)
    make(job, parts, journal, arguments.workers)
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
        one_of("--measures", measure, MEASURES)
    split(len(dev.questions), job.folds, 0)
    load_free(job.free, BM25)
    if arguments.test:
        Dataset.load(arguments.test)  # not looked at: a folder that is none is refused


def all_parts(measure: str, arguments: argparse.Namespace, dev: Dataset) -> list[Part]:
    """Everything that is fitted for one measure."""
    seeds = range(arguments.seeds)
    folds = [*range(arguments.folds), None]
    parts = [Part(measure, method, 0, fold) for method in (*FIXED, *LEARNED) for fold in folds]
    parts += [Part(measure, method, seed, None) for method in SEARCHES for seed in seeds]
    parts += [Part(measure, method, 0, fold) for method in SEARCHES for fold in range(arguments.folds)]
    return parts + ablations(measure, seeds, dev) + curve_parts(measure, seeds, dev)


def ablations(measure: str, seeds: Iterable[int], dev: Dataset) -> list[Part]:
    """Each perspective, the context and BM25 left out; each reading of the context."""
    left_out = (*dev.columns.layout.sentences, "context", *dev.columns.layout.documents)
    changes: list[dict[str, str]] = [{"without": name} for name in left_out]
    changes += [{"context": context} for context in ("document", "fixpoint")]
    return [Part(measure, "alternating Bayesian", seed, **change) for change in changes for seed in list(seeds)[:2]]


def curve_parts(measure: str, seeds: Iterable[int], dev: Dataset) -> list[Part]:
    """Tuning on fewer questions, another sample for each seed."""
    sizes = [size for size in SIZES if size < len(dev.questions)]
    return [Part(measure, "alternating Bayesian", seed, size=size) for size in sizes for seed in seeds]


def make(job: Job, parts: Sequence[Part], journal: Journal, workers: int) -> None:
    """Fit what the journal lacks, in several processes."""
    missing = [part for part in parts if part.name not in journal.records]
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(fit_and_measure, job, part): part for part in missing}
        for done in tqdm(as_completed(running), total=len(missing), desc="fits", disable=not sys.stderr.isatty()):
            journal.add(running[done].name, done.result())


def fit_and_measure(job: Job, part: Part) -> dict[str, Any]:
    """Fit a part on dev; the weights, the measure on what was fitted, and of each question held out."""
    objective = load(job.dev, part.measure)
    fitted, numbers = objective, np.arange(len(objective.scored.questions))
    held = None if part.held_out is None else split(len(numbers), job.folds, 0)[part.held_out]
    if held is not None:
        fitted = objective.restricted(np.setdiff1d(numbers, held))
    if part.size is not None:
        chosen = np.random.default_rng([part.seed, part.size]).choice(numbers, part.size, replace=False)
        fitted = objective.restricted(chosen)
    ranker, facts = fit(part, fitted, job)
    if held is not None:
        rest = objective.restricted(held)
        facts["held_out"] = rest.per_question(ranker(rest)).tolist()
    return {"fitted": fitted(ranker(fitted)), **facts}


@cache
def load(folder: Path, measure: str) -> Objective:
    """The objective over a scored set, once for each process."""
    return Objective(Dataset.load(folder), measure, version=VERSION)


def fit(part: Part, objective: Objective, job: Job) -> tuple[Ranker, dict[str, Any]]:
    """A way to answer, found on the questions of an objective, and what there is to say about it."""
    layout = objective.scored.columns.layout
    if part.method in SEARCHES:
        bounds = {part.without: (0.0, 0.0)} if part.without else {}
        space = Space.of(objective.scored.columns, context=part.context, bounds=bounds)  # type: ignore[arg-type]
        found = search(objective, space, plan(part.method, job, part.seed))
        return by_weights(found.weights), {"best": found.best_so_far.tolist(), "weights": found.weights.to_dict()}
    if part.method in LEARNED:
        return LearnedRanker.fit(objective, part.method, part.seed).answers, {}  # type: ignore[arg-type]
    if part.method in FREE:
        return partial(by_free, load_free(job.free, part.method)), {}
    if part.method == "best single perspective":
        names, none = layout.sentences, dict.fromkeys(layout.documents, 0.0)
        alone = [Weights({n: float(n == name) for n in names}, 0.0, none, 1.0, (1.0,), "document") for name in names]
        best = max(alone, key=objective)
        return by_weights(best), {"chosen": max(best.alpha, key=lambda name: best.alpha[name])}
    if part.method == "equal shares":
        space = Space.of(objective.scored.columns)
        return by_weights(space.weights(space.equal())), {}
    return by_weights(fixed(part.method, layout)), {}


def fixed(method: str, layout: Layout) -> Weights:
    """Weights that nothing was fitted for here."""
    if method == SHIPPED:
        return Weights.from_dict(open_bundle("default").weights or {})
    if method == REFERENCE:
        return Weights.equal(layout.sentences, layout.documents)
    return PUBLISHED["rawal-baral-2020"].over(layout)


@cache
def load_free(folders: tuple[Path, ...], method: str) -> Free:
    """What a free baseline gives to the documents and the sentences of each question, by its id; the documents' ids."""
    found = {}
    for folder in folders:
        scored = Dataset.load(folder)
        columns = scored.columns
        if columns.layout.documents != ("bm25", "dense") or columns.layout.sentences != ("cosine",):
            raise InputError(f"--free {folder}: not scored by the start encoder; use experiments/bundles/start.json.")
        for number, question in enumerate(scored.questions):
            documents = columns.question_of == number
            sentences = documents[columns.document_of]
            found[question.id] = (
                free_scores(columns.first[documents], columns.document("dense")[documents])[method],
                free_scores(scored.lexical[sentences], columns.sentence("cosine")[sentences])[method],
                scored.documents[documents].tolist(),
            )
    return found


def by_free(found: Free, one: Objective) -> Submissions:
    """Submissions by a free baseline."""
    if missing := [question.id for question in one.scored.questions if question.id not in found]:
        raise InputError(f"--free: the question {missing[0]} is missing; score the same questions with start.json.")
    parts = [found[question.id] for question in one.scored.questions]
    documents, sentences, names = (np.concatenate([part[i] for part in parts]) for i in range(3))
    if len(sentences) != len(one.scored.sections) or names.tolist() != one.scored.documents.tolist():
        raise InputError("--free: the candidates are others; score them with the same index, number and mpir.")
    return one.pool.answers(documents, sentences)


def by_weights(weights: Weights) -> Ranker:
    """Submissions by the blend."""
    return lambda one: one.answers(weights)


def plan(method: str, job: Job, seed: int) -> Plan:
    """The same number of evaluations for every method."""
    alternating = Plan(calls=job.calls, loops=job.loops, tolerance=-1.0, seed=seed)
    if method == "alternating Bayesian":
        return alternating
    joint = replace(alternating, halves=("all",), calls=alternating.budget - 1, loops=1)
    others: dict[str, Any] = {"random search": RandomSearch, "grid search": GridSearch}
    return replace(joint, optimiser=others[method]) if method in others else joint


class Report:
    """Tables and pictures of one measure."""

    def __init__(self, job: Job, measure: str, journal: Journal, arguments: argparse.Namespace) -> None:
        """Read the parts from the journal, and open the test questions."""
        every = load(arguments.test, measure)
        ids = [question.id for question in every.scored.questions]
        self.test = every.restricted([number for number, name in enumerate(ids) if name not in arguments.leave_out])
        self.job, self.measure, self.journal = job, measure, journal
        self.seeds, self.folds = range(arguments.seeds), range(arguments.folds)
        self.methods = (*FIXED, *LEARNED, *SEARCHES)
        self.results: dict[str, Any] = {}

    def record(self, method: str, seed: int = 0, **more: Any) -> dict[str, Any]:
        """The record of one part."""
        return self.journal.records[Part(self.measure, method, seed, **more).name]

    def values(self, method: str, seeds: Iterable[int] | None = None, **more: Any) -> Any:
        """The measure of each test question (Q,), as a mean over seeds."""
        chosen = (list(self.seeds) if method in SEARCHES else [0]) if seeds is None else list(seeds)
        return np.mean([self.on_test(Part(self.measure, method, seed, **more)) for seed in chosen], axis=0)

    @cache  # noqa: B019  (one report for a run)
    def on_test(self, part: Part) -> Any:
        """The measure of each test question (Q,) by what a part found."""
        weights = self.journal.records[part.name].get("weights")
        if weights is None:  # made again rather than kept: a classifier, or nothing to search for
            ranker, _ = fit(part, load(self.job.dev, part.measure), self.job)
        else:
            ranker = by_weights(Weights.from_dict(weights))
        return self.test.per_question(ranker(self.test))

    def held_out(self, method: str) -> float:
        """The mean over all dev questions, each measured in the fold that held it out."""
        return float(
            np.mean(np.concatenate([self.record(method, 0, held_out=fold)["held_out"] for fold in self.folds]))
        )

    def tables(self) -> list[str]:
        """Comparison, ablation, learning curve."""
        return [self.comparison(), self.pairs(), self.ablation(), self.curve()]

    def comparison(self) -> str:
        """Every method on dev and test, and its difference from equal weights."""
        reference = self.values(REFERENCE)
        others = [method for method in self.methods if method != REFERENCE]
        adjusted = dict(zip(others, holm([randomisation_test(self.values(m), reference) for m in others]), strict=True))
        rows = []
        for method in self.methods:
            values = self.values(method)
            low, high = bootstrap_interval(values)
            spread = self.spread(method)
            fitted = float(np.mean([self.record(method, s)["fitted"] for s in (self.seeds if spread else [0])]))
            difference = values.mean() - reference.mean()
            p = adjusted.get(method)
            rows.append(
                [method, fitted, self.held_out(method), values.mean(), f"{low:.4f}–{high:.4f}", spread or "",
                 f"{difference:+.4f}", "" if p is None else f"{p:.4f}"]
            )  # fmt: skip
            self.results[method] = {
                "dev": fitted,
                "held_out": rows[-1][2],
                "test": values.mean(),
                "interval": [low, high],
            }
            self.results[method] |= {"difference": difference, "p_holm": p, **self.chosen(method)}
        heads = [
            "",
            "dev, fitted",
            "dev, held out",
            "test",
            "95 % interval",
            "over seeds",
            "− equal weights",
            "p (Holm)",
        ]
        return f"### {self.measure}\n\n" + table(rows, heads)

    def chosen(self, method: str) -> dict[str, Any]:
        """The perspective or the weights that were found."""
        return {key: value for key, value in self.record(method).items() if key in ("chosen", "weights")}

    def spread(self, method: str) -> str:
        """The lowest and highest test mean over seeds."""
        if method not in SEARCHES:
            return ""
        means = [self.mean(method, seed) for seed in self.seeds]
        return f"{min(means):.4f}–{max(means):.4f}"

    def pairs(self) -> str:
        """Alternation against every other search and learned fusion, on test."""
        ours = self.values("alternating Bayesian")
        others = [method for method in (*SEARCHES, *LEARNED) if method != "alternating Bayesian"]
        adjusted = holm([randomisation_test(ours, self.values(method)) for method in others])
        rows = []
        for method, p in zip(others, adjusted, strict=True):
            difference = ours - self.values(method)
            low, high = bootstrap_interval(difference)
            rows.append([method, f"{difference.mean():+.4f}", f"{low:+.4f} to {high:+.4f}", f"{p:.4f}"])
        return f"{self.measure}: alternating Bayesian minus …\n\n" + table(
            rows, ["", "difference", "95 % interval", "p (Holm)"]
        )

    def changes(self) -> dict[str, tuple[float, float, float, float]]:
        """Each ablation's difference from the full system on test: mean, interval, p after Holm."""
        full = self.values("alternating Bayesian", list(self.seeds)[:2])
        layout = Dataset.load(self.job.dev).columns.layout
        names = (*layout.sentences, "context", *layout.documents)
        changes = {f"without {name}": {"without": name} for name in names}
        changes |= {f"context: {context}": {"context": context} for context in ("document", "fixpoint")}
        differences = {
            label: self.values("alternating Bayesian", list(self.seeds)[:2], **change) - full
            for label, change in changes.items()
        }
        adjusted = holm([randomisation_test(one, np.zeros_like(one)) for one in differences.values()])
        return {
            label: (float(one.mean()), *bootstrap_interval(one), float(p))
            for (label, one), p in zip(differences.items(), adjusted, strict=True)
        }

    def ablation(self) -> str:
        """What every piece is worth, tuned again without it."""
        self.results["ablation"] = changes = self.changes()
        rows = [
            [label, f"{mean:+.4f}", f"{low:+.4f} to {high:+.4f}", f"{p:.4f}"]
            for label, (mean, low, high, p) in changes.items()
        ]
        return f"{self.measure}: ablation (tuned again), difference on test\n\n" + table(
            rows, ["", "difference", "95 % interval", "p (Holm)"]
        )

    def learning(self) -> tuple[list[int], Any]:
        """Numbers of questions, and the test means (S, seeds)."""
        questions = len(Dataset.load(self.job.dev).questions)
        sizes = [size for size in SIZES if size < questions]
        means = [[self.mean("alternating Bayesian", seed, size=size) for seed in self.seeds] for size in sizes]
        means.append([self.mean("alternating Bayesian", seed) for seed in self.seeds])
        return [*sizes, questions], np.array(means)

    def mean(self, method: str, seed: int = 0, **more: Any) -> float:
        """A test mean."""
        return float(np.mean(self.on_test(Part(self.measure, method, seed, **more))))

    def curve(self) -> str:
        """How many questions tuning needs."""
        sizes, means = self.learning()
        self.results["learning_curve"] = {"sizes": sizes, "means": means.tolist()}
        rows = [
            [size, f"{part.mean():.4f}", f"{part.min():.4f}–{part.max():.4f}"]
            for size, part in zip(sizes, means, strict=True)
        ]
        return f"{self.measure}: tuned on so many questions, measured on test\n\n" + table(
            rows, ["questions", "test", "over samples"]
        )

    def draw(self, folder: Path) -> None:
        """All pictures of the measure."""
        name = self.measure
        curves = {m: [np.array(self.record(m, seed)["best"]) for seed in self.seeds] for m in SEARCHES}
        plots.best_so_far(folder / f"{name}-best-so-far", curves, name)
        rows = {label: one[:3] for label, one in self.changes().items()}
        plots.bars(folder / f"{name}-ablation", rows, f"difference in test {name}", zero=True)
        sizes, means = self.learning()
        levels = {
            "tuned": means,
            "equal weights": np.array([self.mean(REFERENCE)]),
            "best single perspective": np.array([self.mean("best single perspective")]),
        }
        plots.learning_curve(folder / f"{name}-learning-curve", sizes, levels, name)
        objective = load(self.job.dev, name)
        space, method = Space.of(objective.scored.columns), "alternating Bayesian"
        found = search(objective, space, plan(method, self.job, 0))
        plots.weight_paths(folder / f"{name}-weights", space, found)
        plots.partial_dependence(folder / f"{name}-dependence", dependence(objective, space, found.point), name)
        plots.shares_at_the_top(folder / f"{name}-shares", top_shares(objective, found.weights))
        self.results["shares"] = dict(zip(space.names, space.shares(found.point).round(4).tolist(), strict=True))


def across(job: Job, arguments: argparse.Namespace, journal: Journal) -> str:
    """What is tuned for one measure, by every measure: means over seeds on test, beside the weights that ship."""
    names, found = ("document-map", "snippet-map", "snippet-f1", "sentence-map"), {}
    tests = {name: Report(job, name, journal, arguments).test for name in names}
    for measure in arguments.measures:
        parts = [Part(measure, "alternating Bayesian", seed) for seed in range(arguments.seeds)]
        found[measure] = [Weights.from_dict(journal.records[part.name]["weights"]) for part in parts]
    found[SHIPPED] = [fixed(SHIPPED, tests[names[0]].scored.columns.layout)]
    rows = [[label, *(float(np.mean([tests[n](one) for one in many])) for n in names)] for label, many in found.items()]
    return "tuned for one measure, by every measure, on test\n\n" + table(rows, ["tuned for", *names])


def table(rows: Sequence[Sequence[Any]], heads: Sequence[str]) -> str:
    """A Markdown table."""
    return tabulate(rows, heads, tablefmt="pipe", floatfmt=".4f", disable_numparse=[0])


if __name__ == "__main__":
    sys.exit(main())
