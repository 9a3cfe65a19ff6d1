"""How much wording moves an order and a probability: pure functions of scores by wording and document."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.stats import kendalltau

from mpir.types import F64

TOP, PERSISTENCE = 10, 0.9
LOWEST = 1e-6


def log_odds(probabilities: F64) -> F64:
    """Log-odds of probabilities, which are kept off 0 and 1."""
    clipped = np.clip(probabilities, LOWEST, 1 - LOWEST)
    return np.log(clipped / (1 - clipped))


def order_of(scores: F64) -> list[int]:
    """The documents, best first; ties as they came."""
    return [int(i) for i in np.argsort(-scores, kind="stable")]


def overlap(first: list[int], second: list[int], top: int = TOP) -> float:
    """The share of the first documents that two orders have in common."""
    depth = min(top, len(first))
    return len(set(first[:depth]) & set(second[:depth])) / depth


def rank_biased_overlap(first: list[int], second: list[int], persistence: float = PERSISTENCE) -> float:
    """Rank-biased overlap of two orders of the same documents, extrapolated (Webber et al. 2010, equation 32)."""
    depth = len(first)
    shared = np.array([len(set(first[:d]) & set(second[:d])) for d in range(1, depth + 1)])
    agreement = shared / np.arange(1, depth + 1)
    weights = persistence ** np.arange(1, depth + 1)
    return float(agreement[-1] * persistence**depth + (1 - persistence) / persistence * (agreement * weights).sum())


def order_agreement(scores: F64) -> tuple[float, float, float]:
    """Kendall's τ, overlap of the first ten and rank-biased overlap of scores (W, D), means over pairs of wordings."""
    orders = [order_of(row) for row in scores]
    pairs = list(combinations(range(len(scores)), 2))
    taus = [kendalltau(scores[a], scores[b]).statistic for a, b in pairs]
    shared = [overlap(orders[a], orders[b]) for a, b in pairs]
    biased = [rank_biased_overlap(orders[a], orders[b]) for a, b in pairs]
    return float(np.nanmean(taus)), float(np.mean(shared)), float(np.mean(biased))


def spread(values: F64) -> float:
    """The standard deviation of values (W, ...) over wordings, the mean over what else there is."""
    return float(np.std(values, axis=0).mean())


def width(values: F64) -> float:
    """The highest minus the lowest value (W, ...) over wordings, the mean over what else there is."""
    return float(np.ptp(values, axis=0).mean())


def ndcg(scores: F64, is_relevant: F64, top: int = TOP) -> float:
    """The nDCG of the first documents with grades 0 and 1."""
    discounts = 1 / np.log2(np.arange(2, min(top, len(scores)) + 2))
    gains = is_relevant[order_of(scores)][:top]
    ideal = np.sort(is_relevant)[::-1][:top]
    return float((gains * discounts).sum() / (ideal * discounts).sum())
