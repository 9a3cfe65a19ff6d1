"""Notes below a ranking: how many relevant documents to expect among the first, and why order and probability differ.

The expected number is the sum of the probabilities. Its interval assumes that documents are relevant independently of
each other (a Poisson binomial distribution), with a shift common to all documents of a query, since a query may have
many or few relevant documents. Documents of low probability are left out: there the sum would be one of errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mpir.core.results import RankedList
from mpir.errors import InputError
from mpir.types import F64

NOISE = 0.05
"""The lowest probability that is told from 0, about the calibration error (docs/evidence/calibration.md)."""
SHIFT = 1.0
"""The standard deviation, in logits, of the shift that a query's documents share."""
DISAGREEMENT = 0.05
"""Probabilities that differ by less count as being in the ranking's order."""
ORDER_NOTE = (
    "A probability is about its document alone, while the order also compares the candidates with each other, so the "
    "two may disagree."
)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expected number of relevant documents among the first `rank`, with its 95 % interval."""

    rank: int
    number: float
    low: int
    high: int


def expectation(probabilities: Sequence[float]) -> Expectation | None:
    """Return what to expect down to the last document that is told from noise; None if there is no such document.

    Args:
        probabilities: (D,) in the order of the ranking.
    """
    rank = max((rank for rank, value in enumerate(probabilities, 1) if value >= NOISE), default=0)
    if not rank:
        return None
    counts = np.zeros(rank + 1)
    values = np.clip(np.array(probabilities[:rank]), 1e-9, 1 - 1e-9)
    logits = np.log(values / (1 - values))
    deviates = np.linspace(-3, 3, 13)
    weights = np.exp(-(deviates**2) / 2)
    for deviate, weight in zip(deviates, weights / weights.sum(), strict=True):
        counts += weight * _count_distribution(1 / (1 + np.exp(-logits - SHIFT * deviate)))
    below = counts.cumsum()
    low, high = (int(np.searchsorted(below, share)) for share in (0.025, 0.975))
    return Expectation(rank, float(values.sum()), low, min(high, rank))


def _count_distribution(probabilities: F64) -> F64:
    """Return the probability (D + 1,) of each number of successes of D independent events."""
    counts = np.zeros(len(probabilities) + 1)
    counts[0] = 1.0
    for probability in probabilities:
        counts[1:] = counts[1:] * (1 - probability) + counts[:-1] * probability
        counts[0] *= 1 - probability
    return counts


def check_probable(ranking: RankedList) -> None:
    """Raise InputError if the ranking has no probabilities to compare with a threshold."""
    if ranking.expected_relevant is None:
        raise InputError(
            "this ranking has no probabilities, because its models have no calibration; use a calibrated bundle, or "
            "run `mpir bundle calibrate`."
        )


def reading_notes(ranking: RankedList) -> list[str]:
    """Return sentences to show below the documents: what to expect, and why order and probability disagree."""
    probabilities = [document.probability for document in ranking if document.probability is not None]
    expected = expectation(probabilities)
    notes = []
    if expected and expected.rank > 1:
        notes.append(
            f"Down to rank {expected.rank}, the last document with a probability of at least {NOISE:.0%}, the "
            f"probabilities add up to {expected.number:.0f} relevant documents (95 % interval: {expected.low} to "
            f"{expected.high})."
        )
    if any(after > before + DISAGREEMENT for before, after in pairwise(probabilities)):
        notes.append(ORDER_NOTE)
    return notes
