"""Sample training triples from clicks: (query, clicked document, unclicked first-stage candidate).

After Hofstätter et al., "Establishing Strong Baselines for TripClick Health Retrieval" (2022): negatives are sampled
from BM25's best candidates of any rank, without the query's relevant pool, *regardless of its grade*. For comparison,
the pool can be kept except for the positive, or negatives can be unclicked results above a click, as in the
collection's own recipe.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

Recipe = Literal["filtered", "unfiltered", "above-click"]
Judged = Mapping[str, int]
"""A query's judgements: document id to grade, above 0 for clicked documents."""
Sampler = Callable[[Sequence[str], Judged, str, np.random.Generator, int], list[str]]


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
        chosen = SAMPLERS[recipe](candidates, pool, positive, generator, negatives)
        sort_keys = generator.integers(0, 2**63 - 1, len(chosen)).tolist()
        triples += [(sort_key, positive, negative) for sort_key, negative in zip(sort_keys, chosen, strict=True)]
    return triples


def _filtered(
    candidates: Sequence[str], pool: Judged, positive: str, generator: np.random.Generator, count: int
) -> list[str]:
    """Sample candidates outside the relevant pool, without replacement."""
    return _sample([name for name in candidates if name not in pool], generator, count)


def _unfiltered(
    candidates: Sequence[str], pool: Judged, positive: str, generator: np.random.Generator, count: int
) -> list[str]:
    """Sample candidates except the positive, without replacement; other clicked documents are included."""
    return _sample([name for name in candidates if name != positive], generator, count)


def _above_click(
    candidates: Sequence[str], pool: Judged, positive: str, generator: np.random.Generator, count: int
) -> list[str]:
    """Sample unclicked candidates above the positive; empty if the positive is not a candidate."""
    if positive not in candidates:
        return []
    above = [name for name in candidates[: candidates.index(positive)] if pool.get(name, 0) <= 0]
    return _sample(above, generator, count)


def _sample(names: Sequence[str], generator: np.random.Generator, count: int) -> list[str]:
    return [names[i] for i in generator.choice(len(names), min(count, len(names)), replace=False).tolist()]


SAMPLERS: dict[str, Sampler] = {"filtered": _filtered, "unfiltered": _unfiltered, "above-click": _above_click}
