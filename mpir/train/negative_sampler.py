"""The negatives of a run whose rows are positive pairs: sampled for a pool at its first batch, and kept to its last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Protocol

import numpy as np

from mpir.models.late import LateInteraction
from mpir.models.pooling import Pooling
from mpir.train.examples import Example
from mpir.train.mixture import Task
from mpir.train.sampling import allowed, choose, triplets
from mpir.train.schedule import Batch
from mpir.types import Float

Closeness = Callable[[list[str], list[str], Pooling | LateInteraction], Float]
"""Scores (N, T) of every question with every text, by the model as it is now."""
Positives = Mapping[int, Mapping[str, AbstractSet[str]]]
"""Of each task by its index: the texts that are known to answer each question."""


class Batches(Protocol):
    """The batches of a run by their number."""

    def __getitem__(self, step: int) -> Batch:
        """The batch of a step."""


class SampledNegatives(NamedTuple):
    """What a sampler holds, as a saved state keeps it: the negatives of the pool whose first batch is that of `step`.

    `skipped` is how many pairs had no negative so far.
    """

    step: int
    texts: Sequence[str | None]
    skipped: int


class NegativeSampler:
    """Gives every pair of a pool its negative, all of them at the pool's first batch."""

    def __init__(self, tasks: Sequence[Task], known: Positives, seed: int, closeness: Closeness) -> None:
        """Sample for tasks by their index; what answers a pair's question, by `known`, is never its negative."""
        self.skipped = 0
        self._tasks, self._known, self._seed, self._closeness = tasks, known, seed, closeness
        self._pool: list[Example] = []
        self._pool_step = 0
        self._negatives: dict[int, str | None] = {}

    def rows(self, batch: Batch, step: int) -> list[Example]:
        """A batch's rows or, of one whose negatives are sampled, the triplets; pairs without a negative are skipped."""
        if batch.pool is None:
            return batch.rows
        if batch.pool is not self._pool:
            self._hold(step, batch.pool, self._sample(batch.task, batch.pool, step))
        negatives = [self._negatives[id(pair)] for pair in batch.rows]
        self.skipped += negatives.count(None)
        return triplets(batch.rows, negatives)

    def state(self) -> SampledNegatives:
        """What a resumed run needs to go on inside a pool."""
        return SampledNegatives(self._pool_step, list(self._negatives.values()), self.skipped)

    def restore(self, state: SampledNegatives, batches: Batches) -> None:
        """Hold what a saved state held for the pool of one of the run's batches."""
        self.skipped = state.skipped
        if state.texts and (pool := batches[state.step].pool):
            self._hold(state.step, pool, state.texts)

    def _hold(self, step: int, pool: list[Example], negatives: Sequence[str | None]) -> None:
        """Keep what was sampled for a pool, from its first batch on, which is that of a step."""
        self._pool_step, self._pool = step, pool
        self._negatives = {id(pair): text for pair, text in zip(pool, negatives, strict=True)}

    def _sample(self, task: int, pool: list[Example], step: int) -> list[str | None]:
        """A negative for each pair of a pool."""
        texts, sampling = list(dict.fromkeys(pair.sentence for pair in pool)), self._tasks[task].sampling
        may = allowed(pool, texts, self._known[task])
        if sampling is None or sampling.negatives == "random":
            closeness: Float = np.random.default_rng([self._seed, step]).random(may.shape)
        else:
            closeness = self._closeness([pair.question for pair in pool], texts, self._tasks[task].pooling)
        return [None if number is None else texts[number] for number in choose(closeness, may)]
