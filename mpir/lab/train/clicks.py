"""Sample training triples from clicks: (query, clicked document, unclicked first-stage candidate).

After Hofstätter et al., "Establishing Strong Baselines for TripClick Health Retrieval" (2022): negatives are sampled
from BM25's best candidates of any rank, without the query's relevant pool, *regardless of its grade*. For comparison,
the pool can be kept except for the positive, or negatives can be unclicked candidates above a click, as in the
collection's own recipe, but in the first stage's order: its files do not have that in which results were shown.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

Recipe = Literal["filtered", "unfiltered", "above-click"]
Judged = Mapping[str, int]
"""A query's judgements: document id to grade, above 0 for clicked documents."""


def triples_of(
    query: str,
    candidates: Sequence[str],
    judged: Judged,
    *,
    seed: int,
    negatives: int = 20,
    recipe: Recipe = "filtered",
    keep_judged: bool = False,
) -> list[tuple[int, str, str]]:
    """Return (sort key, positive, negative) of one query; triples are shuffled by the key, a random number of 63 bits.

    They depend only on the seed, the query, its candidates (best first) and its judgements, so that work can be done in
    any order and resumed. With `keep_judged`, judged documents without a click may be negatives.
    """
    generator = np.random.default_rng([seed, zlib.crc32(query.encode())])
    pool = {name: grade for name, grade in judged.items() if grade > 0 or not keep_judged}
    triples = []
    for positive in (name for name, grade in judged.items() if grade > 0):
        names = _allowed(recipe, candidates, pool, positive)
        chosen = generator.choice(len(names), min(negatives, len(names)), replace=False).tolist()
        sort_keys = generator.integers(0, 2**63 - 1, len(chosen)).tolist()
        triples += [(sort_key, positive, names[number]) for sort_key, number in zip(sort_keys, chosen, strict=True)]
    return triples


def _allowed(recipe: Recipe, candidates: Sequence[str], pool: Judged, positive: str) -> list[str]:
    """Return the candidates that may be negatives of a positive document.

    ``filtered`` are those outside the relevant pool, ``unfiltered`` all but the positive, other clicked documents
    included, and ``above-click`` the unclicked ones above the positive; none if it is not a candidate.
    """
    if recipe == "filtered":
        return [name for name in candidates if name not in pool]
    if recipe == "unfiltered":
        return [name for name in candidates if name != positive]
    above = candidates[: candidates.index(positive)] if positive in candidates else ()
    return [name for name in above if pool.get(name, 0) <= 0]
