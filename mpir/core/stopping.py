"""When to stop reading a ranking: the expected recall above each rank, computed from the probabilities.

The expected number of relevant documents above a rank is the sum of their probabilities. Divided by the sum over all
candidates, this is the expected recall among the candidates; documents that the search missed are not counted. The
estimate is as good as the calibration, and may be far off on queries or candidates unlike the calibration's.
"""

from __future__ import annotations

from itertools import accumulate

from mpir.core.results import RankedList
from mpir.errors import InputError

RECALL = 0.95
"""The expected recall at which reading may stop, a target that is common in screening."""


def expected_recall(ranking: RankedList) -> list[float] | None:
    """Return the expected recall after reading 1, 2, … documents; None if the ranking has no probabilities."""
    probabilities = [d.probability for d in ranking if d.probability is not None]
    if not ranking.expected_relevant or len(probabilities) < len(ranking):
        return None
    return [total / ranking.expected_relevant for total in accumulate(probabilities)]


def stopping_rank(ranking: RankedList, recall: float = RECALL) -> int | None:
    """Return the first rank (from 1) that reaches this expected recall; None if none does or nothing is calibrated."""
    recalls = expected_recall(ranking) or []
    return next((rank for rank, value in enumerate(recalls, 1) if value >= recall - 1e-9), None)


def check_probable(ranking: RankedList) -> None:
    """Raise InputError if the ranking has no probabilities to compare with a threshold."""
    if ranking.expected_relevant is None:
        cause = "its documents are single sentences" if ranking.sentence_list else "its weights have no calibration"
        raise InputError(
            f"this ranking has no probabilities, because {cause}; use a bundle's own weights on documents, or run "
            "`mpir bundle calibrate`."
        )


def reading_advice(ranking: RankedList, recall: float = RECALL) -> str:
    """Return a sentence that says at which rank reading may stop; an empty string if there is no such rank."""
    rank = stopping_rank(ranking, recall)
    if rank is None or rank >= ranking.candidates:
        return ""
    return (
        f"You may stop reading after rank {rank}: by then you have read an estimated {recall:.0%} of the relevant "
        f"documents among these {ranking.candidates}."
    )
