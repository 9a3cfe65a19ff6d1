"""Sample negatives for rows that are positive pairs, for one pool of batches at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np

from mpir.lab.train.examples import Example
from mpir.lab.train.mixture import Task
from mpir.lab.train.sampling import allowed, choose, triplets
from mpir.lab.train.schedule import Batch, Schedule
from mpir.models.late_interaction.late import LateInteraction
from mpir.models.vectors.embedding import Pooling
from mpir.types import Float

Closeness = Callable[[list[str], list[str], Pooling | LateInteraction], Float]
"""Scores (N, T) of every question with every text, by the model as it is now."""
Positives = Mapping[int, Mapping[str, AbstractSet[str]]]
"""Known answers of each question, by the index of the task."""


class SampledNegatives(NamedTuple):
    """A sampler's state: the negatives of the pool that begins at `step`.

    `skipped` is the number of pairs without a negative so far.
    """

    step: int
    texts: Sequence[str | None]
    skipped: int


class NegativeSampler:
    """Samples a negative for each pair of a pool, at the pool's first batch."""

    def __init__(self, tasks: Sequence[Task], known: Positives, seed: int, closeness: Closeness) -> None:
        """Sample for tasks by index; `known` answers of a question are never its negatives."""
        self.skipped = 0
        self._tasks, self._known, self._seed, self._closeness = tasks, known, seed, closeness
        self._pool: list[Example] = []
        self._pool_step = 0
        self._negatives: dict[int, str | None] = {}

    def rows(self, batch: Batch, step: int) -> list[Example]:
        """Return a batch's rows or, with sampled negatives, its triplets; pairs without a negative are skipped."""
        if batch.pool is None:
            return batch.rows
        if batch.pool is not self._pool:
            self._hold(step, batch.pool, self._sample(batch.task, batch.pool, step))
        negatives = [self._negatives[id(pair)] for pair in batch.rows]
        self.skipped += negatives.count(None)
        return triplets(batch.rows, negatives)

    def state(self) -> SampledNegatives:
        """Return the state for resuming inside a pool."""
        return SampledNegatives(self._pool_step, list(self._negatives.values()), self.skipped)

    def restore(self, state: SampledNegatives, batches: Schedule) -> None:
        """Restore a saved state for the pool of one of the run's batches."""
        self.skipped = state.skipped
        if state.texts and (pool := batches[state.step].pool):
            self._hold(state.step, pool, state.texts)

    def _hold(self, step: int, pool: list[Example], negatives: Sequence[str | None]) -> None:
        """Store the negatives of a pool that begins at a step."""
        self._pool_step, self._pool = step, pool
        self._negatives = {id(pair): text for pair, text in zip(pool, negatives, strict=True)}

    def _sample(self, task: int, pool: list[Example], step: int) -> list[str | None]:
        """Sample a negative for each pair of a pool."""
        texts, sampling = list(dict.fromkeys(pair.sentence for pair in pool)), self._tasks[task].sampling
        may = allowed(pool, texts, self._known[task])
        if sampling is None or sampling.negatives == "random":
            closeness: Float = np.random.default_rng([self._seed, step]).random(may.shape)
        else:
            closeness = self._closeness([pair.question for pair in pool], texts, self._tasks[task].pooling)
        return [None if number is None else texts[number] for number in choose(closeness, may)]
