"""The fits of experiments/tuning/compare.py: each method of finding weights, and the unweighted baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common.baselines import BM25, COSINE, SUMMED, free_scores
from experiments.tuning.learning_to_rank import LearnedRanker
from mpir.core.columns import Layout
from mpir.core.weights import PUBLISHED, RANKS, Weights
from mpir.errors import InputError
from mpir.models.perspectives import open_bundle
from mpir.tune.cross_validation import split
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from mpir.tune.optimiser import Bayesian, Optimiser, RandomSearch
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
"""The default bundle's weights, tuned on all of dev for documents and sentences, so no part of dev is held out."""
FIXED = (*FREE, SHIPPED, "equal weights", "equal shares", "paper's weights", "best single perspective")
REFERENCE = "equal weights"
VERSION = 8
"""Version of the official measures: the latest in which every question counts."""
SIZES = (10, 20, 40, 80)
"""Numbers of dev questions for the learning curve."""


class GridSearch(Optimiser):
    """A regular grid with enough points for the number of calls, in random order."""

    def propose(self, number: int) -> F64:
        """The next point of the shuffled grid."""
        levels = 2
        while levels**self.dimensions < self.calls:
            levels += 1
        order = np.random.default_rng(self.seed).permutation(levels**self.dimensions)
        level_numbers = np.unravel_index(order[number % len(order)], (levels,) * self.dimensions)
        return np.array(level_numbers, np.float64) / (levels - 1)


@dataclass(frozen=True)
class Fit:
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
        """The part's key in the journal."""
        return repr(self)


@dataclass(frozen=True)
class Job:
    """The settings common to all parts."""

    dev: Path
    calls: int
    loops: int
    folds: int
    free: tuple[Path, ...]
    initial: int = 8
    best_sentences: int = RANKS


def made_by(job: Job, dev: Dataset) -> dict[str, Any]:
    """The inputs that every fit depends on; of the baselines, the sets with dev's questions, as test's may follow."""
    question_ids = {question.id for question in dev.questions}
    free = [
        scored_set
        for scored_set in map(Dataset.load, job.free)
        if question_ids & {question.id for question in scored_set.questions}
    ]
    shipped = open_bundle("default").weights
    values = {"job": repr(replace(job, dev=Path(), free=())), "version": VERSION, "shipped": shipped}
    return {"dev": dev.data, "free": sorted(scored_set.data for scored_set in free), **values}


def fit_and_measure(job: Job, planned: Fit) -> dict[str, Any]:
    """Fit a part on dev; the weights, the measure on what was fitted, and of each question held out."""
    objective = load(job.dev, planned.measure)
    fitted, numbers = objective, np.arange(len(objective.scored.questions))
    held = None if planned.held_out is None else split(len(numbers), job.folds, 0)[planned.held_out]
    if held is not None:
        fitted = objective.restricted(np.setdiff1d(numbers, held))
    if planned.size is not None:
        chosen = np.random.default_rng([planned.seed, planned.size]).choice(numbers, planned.size, replace=False)
        fitted = objective.restricted(chosen)
    ranker, facts = fit(planned, fitted, job)
    if held is not None:
        unseen = objective.restricted(held)
        facts["held_out"] = unseen.per_question(ranker(unseen)).tolist()
    return {"fitted": fitted(ranker(fitted)), **facts}


@cache
def load(folder: Path, measure: str) -> Objective:
    """The objective over a scored set, once for each process."""
    return Objective(Dataset.load(folder), measure, version=VERSION)


def fit(planned: Fit, objective: Objective, job: Job) -> tuple[Ranker, dict[str, Any]]:
    """A way to answer, found on the questions of an objective, and what there is to say about it."""
    layout = objective.scored.columns.layout
    if planned.method in SEARCHES:
        bounds = {f"w{rank}": (0.0, 0.0) for rank in range(job.best_sentences + 1, RANKS + 1)}
        bounds |= {planned.without: (0.0, 0.0)} if planned.without else {}
        space = Space.of(objective.scored.columns, context=planned.context, bounds=bounds)  # type: ignore[arg-type]
        result = search(objective, space, plan(planned.method, job, planned.seed))
        return by_weights(result.weights), {"best": result.best_so_far.tolist(), "weights": result.weights.to_dict()}
    if planned.method in LEARNED:
        return LearnedRanker.fit(objective, planned.method, planned.seed).answers, {}  # type: ignore[arg-type]
    if planned.method in FREE:
        return partial(by_free, load_free(job.free, planned.method)), {}
    if planned.method == "best single perspective":
        names, none = layout.sentences, dict.fromkeys(layout.documents, 0.0)
        single_columns = [
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
        best = max(single_columns, key=objective)
        return by_weights(best), {"chosen": max(best.alpha, key=lambda name: best.alpha[name])}
    if planned.method == "equal shares":
        space = Space.of(objective.scored.columns)
        return by_weights(space.weights(space.equal())), {}
    return by_weights(fixed(planned.method, layout)), {}


def fixed(method: str, layout: Layout) -> Weights:
    """Weights that nothing was fitted for here."""
    if method == SHIPPED:
        return Weights.from_dict(open_bundle("default").weights or {})
    if method == REFERENCE:
        return Weights.equal(layout.sentences, layout.documents)
    return PUBLISHED["rawal-baral-2020"].align_to(layout)


@cache
def load_free(folders: tuple[Path, ...], method: str) -> Free:
    """Return an untrained baseline's scores of documents and sentences by question id, with the documents' ids."""
    by_question: Free = {}
    for folder in folders:
        scored = Dataset.load(folder)
        if scored.columns.layout.documents != ("bm25", "dense") or scored.columns.layout.sentences != ("cosine",):
            raise InputError(f"--free {folder}: not scored by the base encoder; use experiments/bundles/start.json.")
        by_question = {**by_question, **free_of(scored, method)}
    return by_question


def free_of(scored: Dataset, method: str) -> Free:
    """Return the scores of one set, which the base encoder scored."""
    columns, by_question = scored.columns, {}
    for number, question in enumerate(scored.questions):
        documents = columns.query_of == number
        sentences = documents[columns.document_of]
        by_question[question.id] = (
            free_scores(columns.first_stage[documents], columns.document("dense")[documents])[method],
            free_scores(scored.lexical[sentences], columns.sentence("cosine")[sentences])[method],
            scored.documents[documents].tolist(),
        )
    return by_question


def by_free(by_question: Free, objective: Objective) -> Submissions:
    """Submissions by a free baseline."""
    if missing := [question.id for question in objective.scored.questions if question.id not in by_question]:
        raise InputError(f"--free: the question {missing[0]} is missing; score the same questions with start.json.")
    of_questions = [by_question[question.id] for question in objective.scored.questions]
    documents, sentences, names = (np.concatenate([of_question[i] for of_question in of_questions]) for i in range(3))
    if len(sentences) != len(objective.scored.sections) or names.tolist() != objective.scored.documents.tolist():
        raise InputError("--free: the candidates are others; score them with the same index, number and mpir.")
    return objective.pool.answers(documents, sentences)


def by_weights(weights: Weights) -> Ranker:
    """Submissions by the blend."""
    return lambda objective: objective.answers(weights)


def plan(method: str, job: Job, seed: int) -> Plan:
    """The same number of evaluations for every method."""
    alternating = Plan(
        calls=job.calls, loops=job.loops, tolerance=-1.0, seed=seed, optimiser=Bayesian(initial=job.initial)
    )
    if method == "alternating Bayesian":
        return alternating
    joint = replace(alternating, halves=("all",), calls=alternating.budget - 1, loops=1)
    searches: dict[str, Any] = {"random search": RandomSearch, "grid search": GridSearch}
    return replace(joint, optimiser=searches[method]) if method in searches else joint
