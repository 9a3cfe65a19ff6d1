"""The report of experiments/tuning/compare.py: its fits measured on test, as tables, JSON and plots."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from experiments.common.significance import p_against
from experiments.tuning.fits import (
    FIXED,
    LEARNED,
    REFERENCE,
    SEARCHES,
    SHIPPED,
    SIZES,
    Fit,
    Job,
    by_weights,
    fit,
    fixed,
    load,
    plan,
)
from experiments.tuning.pictures import bars, learning_curve
from mpir.core.weights import Weights
from mpir.evaluate import bootstrap_interval
from mpir.files.journal import Journal
from mpir.tune import plots
from mpir.tune.dataset import Dataset
from mpir.tune.partial_dependence import dependence, top_shares
from mpir.tune.search import search
from mpir.tune.space import Space


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

    def record(self, method: str, seed: int = 0, **fields: Any) -> dict[str, Any]:
        """The record of one part."""
        return self.journal.records[Fit(self.measure, method, seed, **fields).name]

    def values(self, method: str, seeds: Iterable[int] | None = None, **fields: Any) -> Any:
        """The measure of each test question (Q,), as a mean over seeds."""
        chosen = (list(self.seeds) if method in SEARCHES else [0]) if seeds is None else list(seeds)
        return np.mean([self.on_test(Fit(self.measure, method, seed, **fields)) for seed in chosen], axis=0)

    @cache  # noqa: B019  (one report for a run)
    def on_test(self, planned: Fit) -> Any:
        """Return the measure of each test question (Q,) for a part's result."""
        weights = self.journal.records[planned.name].get("weights")
        if weights is None:  # refitted instead of stored: a classifier, or a system without search
            ranker, _ = fit(planned, load(self.job.dev, planned.measure), self.job)
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
        adjusted = p_against({method: self.values(method) for method in self.methods}, REFERENCE)
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
        compared = [method for method in (*SEARCHES, *LEARNED) if method != "alternating Bayesian"]
        values = {method: self.values(method) for method in ("alternating Bayesian", *compared)}
        rows = []
        for method, p in p_against(values, "alternating Bayesian").items():
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
        adjusted = p_against({"full": np.zeros_like(full), **differences}, "full")
        return {
            label: (float(values.mean()), *bootstrap_interval(values), adjusted[label])
            for label, values in differences.items()
        }

    def ablation(self) -> str:
        """Compare with tuning without each part."""
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

    def mean(self, method: str, seed: int = 0, **fields: Any) -> float:
        """A test mean."""
        return float(np.mean(self.on_test(Fit(self.measure, method, seed, **fields))))

    def curve(self) -> str:
        """Report the learning curve of tuning."""
        sizes, means = self.learning()
        self.results["learning_curve"] = {"sizes": sizes, "means": means.tolist()}
        rows = [
            [size, f"{mean.mean():.4f}", f"{mean.min():.4f}–{mean.max():.4f}"]
            for size, mean in zip(sizes, means, strict=True)
        ]
        return f"{self.measure}: tuned on so many questions, measured on test\n\n" + table(
            rows, ["questions", "test", "over samples"]
        )

    def draw(self, folder: Path) -> None:
        """All pictures of the measure."""
        name = self.measure
        curves = {m: [np.array(self.record(m, seed)["best"]) for seed in self.seeds] for m in SEARCHES}
        plots.best_so_far(folder / f"{name}-best-so-far", curves, name)
        rows = {label: change[:3] for label, change in self.changes().items()}
        bars(folder / f"{name}-ablation", rows, f"difference in test {name}", zero=True)
        sizes, means = self.learning()
        levels = {
            "tuned": means,
            "equal weights": np.array([self.mean(REFERENCE)]),
            "best single perspective": np.array([self.mean("best single perspective")]),
        }
        learning_curve(folder / f"{name}-learning-curve", sizes, levels, name)
        objective = load(self.job.dev, name)
        space, method = Space.of(objective.scored.columns), "alternating Bayesian"
        result = search(objective, space, plan(method, self.job, 0))
        plots.weight_paths(folder / f"{name}-weights", space, result)
        plots.partial_dependence(folder / f"{name}-dependence", dependence(objective, space, result.point), name)
        plots.shares_at_the_top(folder / f"{name}-shares", top_shares(objective, result.weights))
        self.results["shares"] = dict(zip(space.names, space.shares(result.point).round(4).tolist(), strict=True))


def across(job: Job, arguments: argparse.Namespace, journal: Journal) -> str:
    """Report weights tuned for one measure by all measures: means over seeds on test, with the shipped weights."""
    names, weights_of = ("document-map", "snippet-map", "snippet-f1", "sentence-map"), {}
    tests = {name: Report(job, name, journal, arguments).test for name in names}
    for measure in arguments.measures:
        fits = [Fit(measure, "alternating Bayesian", seed) for seed in range(arguments.seeds)]
        weights_of[measure] = [Weights.from_dict(journal.records[planned.name]["weights"]) for planned in fits]
    weights_of[SHIPPED] = [fixed(SHIPPED, tests[names[0]].scored.columns.layout)]
    rows = [
        [label, *(float(np.mean([tests[n](weights) for weights in weights_of_measure])) for n in names)]
        for label, weights_of_measure in weights_of.items()
    ]
    return "tuned for one measure, by every measure, on test\n\n" + table(rows, ["tuned for", *names])


def table(rows: Sequence[Sequence[Any]], heads: Sequence[str]) -> str:
    """A Markdown table."""
    return tabulate(rows, heads, tablefmt="pipe", floatfmt=".4f", disable_numparse=[0])
