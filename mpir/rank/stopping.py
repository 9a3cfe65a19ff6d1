"""Where reading a ranking may end: what share of the relevant documents the probabilities expect above a rank.

The number of relevant documents above a rank is expected to be the sum of their probabilities; divided by the sum over
all candidates, that is the expected recall among the candidates (what the search missed is not counted). It is as good
as the calibration: on questions or candidates unlike those of the calibration it may be far off.
"""

from __future__ import annotations

from itertools import accumulate

from mpir.errors import InputError
from mpir.rank.results import RankedList

RECALL = 0.95
"""The expected recall at which reading may end, as screeners use it."""


def expected_recall(ranking: RankedList) -> list[float] | None:
    """Return the expected recall of reading 1, 2, … documents of a ranking; None where it has no probabilities."""
    probabilities = [d.probability for d in ranking if d.probability is not None]
    if not ranking.expected_relevant or len(probabilities) < len(ranking):
        return None
    return [total / ranking.expected_relevant for total in accumulate(probabilities)]


def stopping_rank(ranking: RankedList, recall: float = RECALL) -> int | None:
    """Return the first rank (from 1) of this expected recall; None where no rank has it, or nothing is calibrated."""
    recalls = expected_recall(ranking) or []
    return next((rank for rank, value in enumerate(recalls, 1) if value >= recall - 1e-9), None)


def check_probable(ranking: RankedList) -> None:
    """Refuse a threshold on probabilities where there are none. Raises InputError."""
    if ranking.expected_relevant is None:
        cause = "its documents are single sentences" if ranking.sentence_list else "its weights have no calibration"
        raise InputError(
            f"a probability is asked of this ranking, but {cause}; use a bundle's own weights on documents, or "
            "`mpir bundle calibrate`."
        )


def reading_advice(ranking: RankedList, recall: float = RECALL) -> str:
    """Return where reading may end, in a sentence; an empty text where there is nothing to say."""
    rank = stopping_rank(ranking, recall)
    if rank is None or rank >= ranking.candidates:
        return ""
    return (
        f"You may stop reading after rank {rank}: by then you have read an estimated {recall:.0%} of the relevant "
        f"documents among these {ranking.candidates}."
    )
