"""Combine the columns of experiments/tripclick/rerank.py into one ranking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from tabulate import tabulate
from tqdm import tqdm

from experiments.tripclick.groups import SUMMARY, Group, means
from mpir.errors import InputError
from mpir.evaluate import evaluate_run
from mpir.models.perspectives import Perspective, ScoreCache, score_pairs
from mpir.search import LuceneIndex
from mpir.search.hybrid import reciprocal_rank_fusion, scaled_sum
from mpir.types import F64

NAMES = {
    "tk": "TK",
    "convknrm": "ConvKNRM",
    "colbert": "ColBERT",
    "colbert-wide": "ColBERT, wide",
    "dot": "DOT",
    "cat": "CAT",
}
"""The models, by their mixture and by their name in the paper, whose ColBERT is the wide one."""
FOUR = ("tk", "colbert", "dot", "cat")
TRIALS, SEED = 200, 1
MAIN = "nDCG@10"
DEPTHS = (10, 20, 50, 100, 200, 500)
"""Numbers of reranked documents in the table of depths."""
Systems = dict[str, list[dict[str, dict[str, float]]]]
"""A run for each group, by the name of a system."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The candidates of each query, best first, and their scores (D, 1 + models): BM25 first, then the models."""

    models: Sequence[str]
    queries: Sequence[str]
    documents: Sequence[Sequence[str]]
    scores: Sequence[F64]


def limited(groups: Sequence[Group], count: int | None) -> list[Group]:
    """The groups with their first judged queries alone, so many of each; all of them for None."""
    limited_groups = []
    for group in groups:
        queries = [query for query in group.queries if query.id in group.qrels][:count]
        limited_groups.append(Group(group.name, queries, {query.id: group.qrels[query.id] for query in queries}))
    return limited_groups


def scored(
    group: Group,
    index: LuceneIndex,
    models: Mapping[str, Perspective],
    depth: int,
    cache: ScoreCache,
    *,
    words: int | None = None,
) -> Scored:
    """Return each model's scores of BM25's best documents for each query, stored as they are computed.

    With `words`, models read that many of a document, title included (the paper: 200 tokens).
    """
    lists = index.search_batch([query.body for query in group.queries], k=depth)
    rows = []
    both = zip(group.queries, lists, strict=True)
    for query, documents in tqdm(both, group.name, len(lists), unit="query", disable=not sys.stderr.isatty()):
        pairs = [(query.body, cut(document.text, words)) for document in documents]
        bm25 = np.array([document.score or 0.0 for document in documents])
        rows.append(np.column_stack([bm25, score_pairs(list(models.values()), pairs, cache=cache).values]))
    documents = [[document.id for document in documents] for documents in lists]
    return Scored(list(models), [query.id for query in group.queries], documents, rows)


def cut(text: str, words: int | None) -> str:
    """The first words of a text; all of them for None."""
    return text if words is None else " ".join(text.split()[:words])


def at_depth(scored_set: Scored, depth: int) -> Scored:
    """Return the rankings restricted to this number of BM25's best documents."""
    documents = [names[:depth] for names in scored_set.documents]
    return Scored(scored_set.models, scored_set.queries, documents, [scores[:depth] for scores in scored_set.scores])


def unseen(
    groups: Sequence[Group], scored_sets: Sequence[Scored], trained: Sequence[Group]
) -> tuple[list[Group], list[Scored]]:
    """Return the rankings without documents that are relevant to a training question.

    Queries that are left without a relevant document are out. It costs a few candidates, which are not made up for.

    Raises:
        InputError: a group is left without a query.
    """
    known = {name for group in trained for grades in group.qrels.values() for name in grades if grades[name] > 0}
    left = []
    for group in groups:
        remaining = (
            (query, {name: grades[name] for name in grades if name not in known})
            for query, grades in group.qrels.items()
        )
        qrels = {query: grades for query, grades in remaining if any(grade > 0 for grade in grades.values())}
        if not qrels:
            raise InputError(
                f"--unseen: whatever is relevant in the group {group.name} is relevant to a training question, too; "
                "leave the option out."
            )
        left.append(Group(group.name, [query for query in group.queries if query.id in qrels], qrels))
    return left, [_without(scored_set, known) for scored_set in scored_sets]


def columns(scored_sets: Sequence[Scored]) -> Systems:
    """BM25 and every model alone."""
    names = ["BM25", *(NAMES.get(name, name) for name in scored_sets[0].models)]
    return {
        name: [runs_of(scored_set, [scores[:, column] for scores in scored_set.scores]) for scored_set in scored_sets]
        for column, name in enumerate(names)
    }


def systems(scored_sets: Sequence[Scored], weights: Sequence[float]) -> Systems:
    """Every column alone, and the ensembles, where there is a model."""
    if not scored_sets[0].models:
        return columns(scored_sets)
    per_group = [ensembles(scored_set, weights) for scored_set in scored_sets]
    return columns(scored_sets) | {name: [ensembles_of[name] for ensembles_of in per_group] for name in per_group[0]}


def runs_of(scored_set: Scored, scores: Sequence[F64]) -> dict[str, dict[str, float]]:
    """One score (D,) for each query's documents, as a run; queries that found nothing are left out."""
    rows = zip(scored_set.queries, scored_set.documents, scores, strict=True)
    return {query: dict(zip(names, values.tolist(), strict=True)) for query, names, values in rows if names}


def ensembles(scored_set: Scored, weights: Sequence[float]) -> dict[str, dict[str, dict[str, float]]]:
    """The models' mean of z-scores and their reciprocal rank fusion; and all columns by the weights that were tuned."""
    equal = [1.0] * len(scored_set.models)
    fused = {
        "mean of scaled scores": [scaled_sum(scores[:, 1:], equal) for scores in scored_set.scores],
        "reciprocal rank fusion": [reciprocal_rank_fusion(_ranks(scores[:, 1:])) for scores in scored_set.scores],
        "tuned blend": [scaled_sum(scores, weights) for scores in scored_set.scores],
    }
    return {name: runs_of(scored_set, scores) for name, scores in fused.items()}


def tuned(groups: Sequence[Group], scored_sets: Sequence[Scored]) -> list[float]:
    """The weights, of z-scores, that have the best mean nDCG@10 over the groups: all equal, each alone, or drawn."""
    count = 1 + len(scored_sets[0].models)
    drawn = np.random.default_rng(SEED).dirichlet(np.ones(count), TRIALS)
    trials = np.concatenate([np.full((1, count), 1 / count), np.eye(count), drawn])
    figures = [
        np.mean([_figure(*group_and_scores, weights) for group_and_scores in zip(groups, scored_sets, strict=True)])
        for weights in trials.tolist()
    ]
    best: list[float] = trials[int(np.argmax(figures))].tolist()
    return best


def summary(groups: Sequence[Group], rows: Systems) -> str:
    """A row for each system with its measures, as means of the groups."""
    figures_of = {name: means(groups, runs) for name, runs in rows.items()}
    cells = [[name, *(f"{value:.3f}" for value in figures.values())] for name, figures in figures_of.items()]
    return tabulate(cells, ["", *SUMMARY.values()], tablefmt="github", disable_numparse=True)


def by_depth(
    groups: Sequence[Group], scored_sets: Sequence[Scored], ranked: Callable[[Sequence[Scored]], Systems]
) -> str:
    """A row for each system, and a column for each number of documents that are reranked, up to those that were."""
    deepest = max(len(names) for scored_set in scored_sets for names in scored_set.documents)
    depths = [*(depth for depth in DEPTHS if depth < deepest), deepest]
    at = [ranked([at_depth(scored_set, depth) for scored_set in scored_sets]) for depth in depths]
    cells = [
        [name, *(f"{means(groups, systems_at_depth[name])[MAIN]:.3f}" for systems_at_depth in at)] for name in at[0]
    ]
    return tabulate(cells, ["", *map(str, depths)], tablefmt="github", disable_numparse=True)


def _without(scored_set: Scored, known: Collection[str]) -> Scored:
    unknown_rows = [[row for row, name in enumerate(names) if name not in known] for names in scored_set.documents]
    documents = [[names[row] for row in rows] for names, rows in zip(scored_set.documents, unknown_rows, strict=True)]
    scores = [values[rows] for values, rows in zip(scored_set.scores, unknown_rows, strict=True)]
    return Scored(scored_set.models, scored_set.queries, documents, scores)


def _figure(group: Group, scored_set: Scored, weights: Sequence[float]) -> float:
    run: Mapping[str, Mapping[str, float]] = runs_of(scored_set, [scaled_sum(s, weights) for s in scored_set.scores])
    return evaluate_run(group.qrels, run, [MAIN])[MAIN]


def _ranks(scores: F64) -> F64:
    """Ranks from 1 in each column; of equal scores the earlier is the better."""
    order = np.argsort(-scores, axis=0, kind="stable")
    ranks = np.empty_like(scores)
    np.put_along_axis(ranks, order, np.arange(1.0, len(scores) + 1)[:, None], axis=0)
    return ranks
