"""Training triples from clicks: for each (query, clicked document), candidates of the first stage that nobody chose.

After Hofstätter et al., "Establishing Strong Baselines for TripClick Health Retrieval" (2022): negatives are sampled
from BM25's best candidates, whatever their rank, once everything in the query's relevant pool is out, *regardless of
its grade*. To compare with, there are the same sample with everything but the positive itself in it, and the
collection's own recipe, unclicked results above a click.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

Recipe = Literal["filtered", "unfiltered", "above-click"]
Judged = Mapping[str, int]
"""A query's judgements: document id to grade, above 0 for what was clicked."""
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

    They depend on the seed, the query, its candidates (best first) and its judgements alone, so that work can be done
    in any order and taken up anywhere. With `keep_judged`, documents that were judged and not clicked may be negatives.
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
    """A sample, without replacement, of the candidates that are not in the relevant pool."""
    return _sample([name for name in candidates if name not in pool], generator, count)


def _unfiltered(
    candidates: Sequence[str], pool: Judged, positive: str, generator: np.random.Generator, count: int
) -> list[str]:
    """A sample, without replacement, of the candidates but for the positive; others that were clicked are among it."""
    return _sample([name for name in candidates if name != positive], generator, count)


def _above_click(
    candidates: Sequence[str], pool: Judged, positive: str, generator: np.random.Generator, count: int
) -> list[str]:
    """A sample of the candidates above the positive that were not clicked; none where it is no candidate."""
    if positive not in candidates:
        return []
    above = [name for name in candidates[: candidates.index(positive)] if pool.get(name, 0) <= 0]
    return _sample(above, generator, count)


def _sample(names: Sequence[str], generator: np.random.Generator, count: int) -> list[str]:
    return [names[i] for i in generator.choice(len(names), min(count, len(names)), replace=False).tolist()]


SAMPLERS: dict[str, Sampler] = {"filtered": _filtered, "unfiltered": _unfiltered, "above-click": _above_click}
