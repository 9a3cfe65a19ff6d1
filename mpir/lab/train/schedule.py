"""Schedule the batches of a training run, in an order that depends only on the seed."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.core.checksum import fingerprint
from mpir.lab.train.examples import Example
from mpir.lab.train.mixture import Task
from mpir.lab.train.sampling import Sampling
from mpir.lab.train.triples import TripleFile

MOST_ROWS_PER_QUESTION = 16
Turns = npt.NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one perspective for one step; `task` is the perspective's index.

    `pool` has the pairs, including these rows, whose texts are candidate negatives.
    """

    task: int
    rows: list[Example]
    pool: list[Example] | None = None


class Schedule:
    """The batches of a run by their number. Batches of triples are read on access."""

    def __init__(self, tasks: Sequence[Task], size: int, seed: int, turns: Turns, listed: list[Batch]) -> None:
        """Follow turns (B,): 0 is the next of the `listed` batches, n the next batch of the n-th file of triples."""
        self._files = _files(tasks)
        self._turns, self._listed = turns, listed[: int(np.count_nonzero(turns == 0))]
        self._size, self._seed = _triples(size), seed
        self._numbers = np.empty(len(turns), np.int32)
        for source in range(len(self._files) + 1):
            mine = turns == source
            self._numbers[mine] = np.arange(np.count_nonzero(mine))

    def __len__(self) -> int:
        return len(self._turns)

    def __getitem__(self, step: int) -> Batch:
        turn, number = int(self._turns[step]), int(self._numbers[step])
        if turn == 0:
            return self._listed[number]
        task, file, _ = self._files[turn - 1]
        return Batch(task, file.batch(number, self._size, self._seed))

    def __iter__(self) -> Iterator[Batch]:
        return (self[step] for step in range(len(self)))

    def rows_seen(self, steps: int) -> Counter[int]:
        """Return the number of rows of each task, by its index, in the first `steps` batches."""
        turns, rows = self._turns[:steps], Counter[int]()
        for batch in self._listed[: int(np.count_nonzero(turns == 0))]:
            rows[batch.task] += len(batch.rows)
        for source, (task, file, _) in enumerate(self._files, 1):
            laps, remainder = divmod(int(np.count_nonzero(turns == source)), file.batches(self._size))
            rows[task] += 2 * (laps * file.count + min(remainder * self._size, file.count))
        return rows

    @cached_property
    def identity(self) -> list[Any]:
        """Return the content of the batches, as JSON-able values."""
        rows = [[batch.task, [asdict(row) for row in batch.rows]] for batch in self._listed]
        files = [[task, file.identity] for task, file, _ in self._files]
        return [rows, *([files, fingerprint(self._turns.tolist())] if files else [])]


def schedule(tasks: Sequence[Task], size: int, seed: int, count: int | None = None) -> Schedule:
    """Schedule a training run. The order depends only on the seed, so a resumed run has the same batches.

    A batch has at most `size` rows. `count` is the number of batches; the mixture is cut off, or repeated in another
    order, to reach it.
    """
    listed: list[Batch] = []
    turns: list[Turns] = []
    while not turns or (count is not None and sum(map(len, turns)) < count):
        batch_list = _listed(tasks, size, seed + len(turns))
        amounts = [
            len(batch_list),
            *(max(1, round(epochs * triple_file.batches(_triples(size)))) for _, triple_file, epochs in _files(tasks)),
        ]
        turn_order = np.repeat(np.arange(len(amounts), dtype=np.int16), amounts)
        np.random.default_rng(seed + len(turns)).shuffle(turn_order)
        listed += batch_list
        turns.append(turn_order)
    return Schedule(tasks, size, seed, np.concatenate(turns)[:count], listed)


def _files(tasks: Sequence[Task]) -> list[tuple[int, TripleFile, float]]:
    """Return each file of triples with the index of its task and its epochs."""
    return [(index, file, epochs) for index, task in enumerate(tasks) for file, epochs in task.triples]


def _triples(size: int) -> int:
    """Return the number of triples, two rows each, in a batch of `size` rows."""
    return max(1, size // 2)


def _listed(tasks: Sequence[Task], size: int, seed: int) -> list[Batch]:
    """Return the batches of the rows in memory."""
    generator = random.Random(seed)
    batch_lists: list[list[Batch]] = []
    for index, task in enumerate(tasks):
        for groups, epochs in task.train:
            for epoch_share in [1.0] * int(epochs) + [epochs % 1] * (epochs % 1 > 0):
                chosen = generator.sample(groups, max(1, round(epoch_share * len(groups))))
                if task.sampling is None:
                    batch_lists.extend([Batch(index, rows)] for rows in _fill(chosen, size, generator))
                else:
                    batch_lists.extend(_pools(index, task.sampling, chosen, size, generator))
    generator.shuffle(batch_lists)
    return [batch for epoch_share in batch_lists for batch in epoch_share]


def _pools(
    task: int, sampling: Sampling, groups: list[list[Example]], size: int, generator: random.Random
) -> list[list[Batch]]:
    """Return the batches of each pool of positive pairs, in sequence, because one pass finds all their negatives."""
    pairs = [row for group in groups for row in group if row.label > 0]
    return [
        [Batch(task, pool[start : start + size], pool) for start in range(0, len(pool), size)]
        for pool in sampling.pools(pairs, generator)
    ]


def _fill(groups: list[list[Example]], size: int, generator: random.Random) -> list[list[Example]]:
    batches: list[list[Example]] = [[]]
    for group in groups:
        rows = _sample(group, generator)
        if batches[-1] and len(batches[-1]) + len(rows) > size:
            batches.append([])
        batches[-1].extend(rows)
    return batches


def _sample(group: list[Example], generator: random.Random) -> list[Example]:
    """Sample at most MOST_ROWS_PER_QUESTION rows of a question, a third with its highest labels, the others lower.

    Ties are broken at random; rows with label 0 never count as the highest.
    """
    if len(group) <= MOST_ROWS_PER_QUESTION:
        return group
    best = sorted((row.label for row in group if row.label > 0), reverse=True)[: MOST_ROWS_PER_QUESTION // 3]
    highest_negative = best[-1] if best else math.inf
    better = [row for row in group if row.label > highest_negative]
    better += generator.sample([row for row in group if row.label == highest_negative], len(best) - len(better))
    lower = [row for row in group if row.label < highest_negative]
    return better + generator.sample(lower, min(len(lower), MOST_ROWS_PER_QUESTION - len(better)))
