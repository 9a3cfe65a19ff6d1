"""The columns of experiments/tripclick.py, and how they become one ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mpir.evaluate import evaluate_run
from mpir.perspectives import Perspective, ScoreCache, score_pairs
from mpir.retrieve import LuceneIndex
from mpir.retrieve.fusion import reciprocal_rank_fusion, scaled_sum
from mpir.tasks.tripclick import Group

Floats = npt.NDArray[np.float64]
NAMES = {"tk": "TK", "colbert": "ColBERT", "dot": "DOT", "cat": "CAT"}
"""The models, by their mixture and by their name in the paper."""
TRIALS, SEED = 200, 1
MAIN = "nDCG@10"


@dataclass(frozen=True, slots=True)
class Scored:
    """The candidates of each query, and their scores (D, 1 + models): BM25 first, then as in NAMES."""

    queries: Sequence[str]
    documents: Sequence[Sequence[str]]
    scores: Sequence[Floats]


def scored(
    group: Group, index: LuceneIndex, perspectives: Sequence[Perspective], depth: int, cache: ScoreCache
) -> Scored:
    """Every model's scores of BM25's best documents for each judged query; they are kept as they come."""
    queries = [query for query in group.queries if query.id in group.qrels]
    found = index.search_batch([query.body for query in queries], k=depth)
    pairs = [(query.body, one.text) for query, part in zip(queries, found, strict=True) for one in part]
    models = [score_pairs([one], pairs, cache=cache, progress=True).values[:, 0] for one in perspectives]
    ends = np.cumsum([len(part) for part in found])[:-1]
    bm25 = np.array([one.score or 0.0 for part in found for one in part])
    columns = np.split(np.column_stack([bm25, *models]), ends)
    return Scored([query.id for query in queries], [[one.id for one in part] for part in found], columns)


def runs_of(found: Scored, scores: Sequence[Floats]) -> dict[str, dict[str, float]]:
    """One score (D,) for each query's documents, as a run; queries that found nothing are left out."""
    rows = zip(found.queries, found.documents, scores, strict=True)
    return {query: dict(zip(names, values.tolist(), strict=True)) for query, names, values in rows if names}


def ensembles(found: Scored, weights: Sequence[float]) -> dict[str, dict[str, dict[str, float]]]:
    """The models' mean of z-scores and their reciprocal rank fusion; and all columns by the weights that were tuned."""
    equal = [1.0] * len(NAMES)
    fused = {
        "mean of scaled scores": [scaled_sum(scores[:, 1:], equal) for scores in found.scores],
        "reciprocal rank fusion": [reciprocal_rank_fusion(_ranks(scores[:, 1:])) for scores in found.scores],
        "tuned blend": [scaled_sum(scores, weights) for scores in found.scores],
    }
    return {name: runs_of(found, scores) for name, scores in fused.items()}


def tuned(groups: Sequence[Group], found: Sequence[Scored]) -> list[float]:
    """The weights, of z-scores, that have the best mean nDCG@10 over the groups: all equal, each alone, or drawn."""
    count = 1 + len(NAMES)
    drawn = np.random.default_rng(SEED).dirichlet(np.ones(count), TRIALS)
    trials = np.concatenate([np.full((1, count), 1 / count), np.eye(count), drawn])
    figures = [
        np.mean([_figure(*part, weights) for part in zip(groups, found, strict=True)]) for weights in trials.tolist()
    ]
    best: list[float] = trials[int(np.argmax(figures))].tolist()
    return best


def _figure(group: Group, found: Scored, weights: Sequence[float]) -> float:
    run: Mapping[str, Mapping[str, float]] = runs_of(found, [scaled_sum(s, weights) for s in found.scores])
    return evaluate_run(group.qrels, run, [MAIN])[MAIN]


def _ranks(scores: Floats) -> Floats:
    """Ranks from 1 in each column; of equal scores the earlier is the better."""
    order = np.argsort(-scores, axis=0, kind="stable")
    ranks = np.empty_like(scores)
    np.put_along_axis(ranks, order, np.arange(1.0, len(scores) + 1)[:, None], axis=0)
    return ranks
