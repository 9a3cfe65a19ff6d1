"""What experiments/tuning/compare.py fits: a way to find weights, or to do without any, on some of the questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common.baselines import BM25, COSINE, SUMMED, free_scores
from mpir.errors import InputError
from mpir.perspectives import open_bundle
from mpir.rank.columns import Layout
from mpir.rank.weights import PUBLISHED, Weights
from mpir.tune.cross_validation import split
from mpir.tune.dataset import Dataset
from mpir.tune.learning_to_rank import LearnedRanker
from mpir.tune.objective import Objective
from mpir.tune.optimiser import GridSearch, RandomSearch
from mpir.tune.search import Plan, search
from mpir.tune.space import Space
from mpir.tune.submissions import Submissions
from mpir.types import F64

Ranker = Callable[[Objective], Submissions]
Free = Mapping[str, tuple[F64, F64, list[str]]]
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
"""So many questions of dev are tuned on for the learning curve."""


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


def made_by(job: Job, dev: Dataset) -> dict[str, Any]:
    """What every part depends on. Of what is free, that is the sets that hold dev's questions: test's may follow."""
    asked = {question.id for question in dev.questions}
    free = [one for one in map(Dataset.load, job.free) if asked & {question.id for question in one.questions}]
    shipped = open_bundle("default").weights
    values = {"job": repr(replace(job, dev=Path(), free=())), "version": VERSION, "shipped": shipped}
    return {"dev": dev.data, "free": sorted(one.data for one in free), **values}


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
        alone = [
            Weights(
                {n: float(n == name) for n in names},
                alpha_context=0.0,
                beta=none,
                beta_sentences=1.0,
                w=(1.0,),
                context="document",
            )
            for name in names
        ]
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
    return PUBLISHED["rawal-baral-2020"].align_to(layout)


@cache
def load_free(folders: tuple[Path, ...], method: str) -> Free:
    """What a free baseline gives to the documents and the sentences of each question, by its id; the documents' ids."""
    found: Free = {}
    for folder in folders:
        scored = Dataset.load(folder)
        if scored.columns.layout.documents != ("bm25", "dense") or scored.columns.layout.sentences != ("cosine",):
            raise InputError(f"--free {folder}: not scored by the start encoder; use experiments/bundles/start.json.")
        found = {**found, **free_of(scored, method)}
    return found


def free_of(scored: Dataset, method: str) -> Free:
    """The same of one set, which the start encoder scored."""
    columns, found = scored.columns, {}
    for number, question in enumerate(scored.questions):
        documents = columns.question_of == number
        sentences = documents[columns.document_of]
        found[question.id] = (
            free_scores(columns.first_stage[documents], columns.document("dense")[documents])[method],
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
