"""When screening may stop: the test of Callaghan and Müller-Hansen on the decisions so far.

Callaghan & Müller-Hansen, "Statistical stopping criteria for automated screening in systematic reviews", Systematic
Reviews 9:273 (2020). It assumes that the documents still unread hold no more relevant ones than a random order would
leave there, so a ranking that is better than random makes it cautious. How often it misses its target is measured in
docs/evidence/stopping.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mpir.errors import InputError
from mpir.types import Bool
from mpir.validation import real_number, whole_number

RECALL, CONFIDENCE = 0.95, 0.995
"""The usual target recall, and a stricter confidence than the paper's 0.95, which is that of a single test.

A test that is repeated after each decision misses the target more often (docs/evidence/stopping.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingTest:
    """The outcome: `relevant` documents among `read` of `candidates`, and the p-value of a recall below `recall`.

    `p` is the probability of so few relevant documents among those read last, if the target recall were missed.
    """

    read: int
    relevant: int
    candidates: int
    recall: float
    confidence: float
    p: float

    @property
    def stop(self) -> bool:
        """Whether the target recall is reached with the demanded confidence."""
        return self.p < 1 - self.confidence

    def __str__(self) -> str:
        state = f"{self.relevant} relevant among {self.read} of {self.candidates} documents read"
        if self.stop:
            return f"You may stop: {state}. A recall below {self.recall:.0%} is rejected (p = {self.p:.3f})."
        return f"Read on: {state}. A recall below {self.recall:.0%} is not rejected yet (p = {self.p:.3f})."


def stopping_test(
    decisions: Sequence[bool] | Bool, candidates: int, *, recall: float = RECALL, confidence: float = CONFIDENCE
) -> StoppingTest:
    """Test whether the decisions so far have reached a target recall among all candidates.

    The hypothesis is a recall below the target. For each possible beginning, the documents read since then count as a
    sample without replacement from those that were unread at that moment; the smallest p-value counts. Beginnings
    right after a relevant document suffice: an earlier one that adds irrelevant documents only lowers p.

    Args:
        decisions: (R,) whether each read document is relevant, in the order of reading.
        candidates: the number of all documents, read or not.
        recall: the target, above 0 and at most 1.
        confidence: 1 minus the highest p at which screening may stop.

    Raises:
        InputError: a recall or confidence outside its range, or fewer candidates than decisions.
    """
    target = real_number("recall", recall, "a number above 0 and up to 1", lambda value: 0 < value <= 1)
    check_confidence(confidence)
    relevant = np.asarray(decisions, bool)
    total = whole_number("candidates", candidates)
    if total < len(relevant):
        raise InputError(f"{len(relevant)} decisions for {total} candidates; give the number of all documents.")
    p = _smallest_p(relevant, total, target)
    return StoppingTest(
        read=len(relevant), relevant=int(relevant.sum()), candidates=total, recall=recall, confidence=confidence, p=p
    )


def check_confidence(confidence: float) -> None:
    """Raise InputError unless a confidence is between 0 and 1."""
    real_number("confidence", confidence, "a number between 0 and 1", lambda value: 0 < value < 1)


def _smallest_p(relevant: Bool, total: int, recall: float) -> float:
    """Return the smallest hypergeometric p-value over the beginnings of the sample."""
    from scipy.stats import hypergeom

    starts = np.append(0, 1 + np.flatnonzero(relevant))
    before = np.arange(len(starts))  # relevant documents read before each beginning
    found = len(starts) - 1
    missed_target = math.floor(found / recall + 1e-9) + 1  # the fewest with a recall below the target
    urn, in_urn = total - starts, missed_target - before
    if missed_target - found > total - len(relevant):
        return 0.0  # not enough documents are unread to miss the target
    return float(hypergeom.cdf(found - before, urn, in_urn, len(relevant) - starts).min())
