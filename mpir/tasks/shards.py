"""A job in parts: each part takes its share of the questions, and all parts together are what one run makes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mpir.errors import InputError, format_names, format_value
from mpir.io.hash import fingerprint
from mpir.text.types import Question
from mpir.tune.dataset import Dataset

KEY = "shard"
"""What a part's manifest says of its part."""
SLURM = ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` of `count`, counted from 1."""

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``i/n``. Raises InputError for another form, or an i that is not from 1 to n."""
        number, _, count = text.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count) <= 10**6):
            raise InputError(f"--shard is {format_value(text)}; expected i/n, from 1/n to n/n, such as 3/10.")
        return cls(int(number), int(count))

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> Shard:
        """The part that a task of a Slurm array is to do; outside of one, all.

        Raises:
            InputError: Slurm's variables are no whole numbers, or the array's numbers have gaps.
        """
        task, count, first = (environment.get(name, "") for name in SLURM)
        if not task or not count:
            return cls()
        if not all(text.isdecimal() for text in (task, count, first or "0")):
            raise InputError(f"{SLURM[0]} is {format_value(task)} and {SLURM[1]} {format_value(count)}; give --shard.")
        number = int(task) - int(first or 0) + 1
        if not 1 <= number <= int(count):
            raise InputError(
                f"task {task} of a Slurm array of {count} has no place in it (are the array's numbers without gaps?); "
                "give --shard i/n."
            )
        return cls(number, int(count))

    def share_of(self, items: Sequence[Item]) -> Sequence[Item]:
        """The part's items: consecutive ones, whose numbers differ by one at most between the parts.

        Raises:
            InputError: there are fewer items than parts.
        """
        if len(items) < self.count:
            raise InputError(f"there are {len(items)} questions for {self.count} parts; make at most that many parts.")
        begin, end = (len(items) * number // self.count for number in (self.number - 1, self.number))
        return items[begin:end]

    def facts(self, questions: Sequence[Question]) -> dict[str, Any]:
        """What the manifest of the part says: which it is, and of which questions all parts are."""
        if self.count == 1:
            return {}
        of = fingerprint([[question.id, question.body] for question in questions])
        return {KEY: {"number": self.number, "count": self.count, "of": of}}


def merge(folders: Sequence[str | Path]) -> Dataset:
    """All parts of one job as the set that a single run makes.

    Raises:
        ArtefactError: a folder holds no scored questions, or is damaged.
        InputError: a part is missing, doubled, or of another job.
    """
    datasets = [(str(folder), Dataset.load(folder)) for folder in folders]
    for folder, dataset in datasets:
        if KEY not in dataset.made_by:
            raise InputError(f"{folder}: is no part but a complete set; give folders that --shard i/n made.")
    by_number: dict[int, tuple[str, Dataset]] = {}
    for folder, dataset in datasets:
        _check_company(folder, dataset, *datasets[0])
        number = dataset.made_by[KEY]["number"]
        if number in by_number:
            raise InputError(f"{folder}: is part {number}, as {by_number[number][0]} is; give each part once.")
        by_number[number] = folder, dataset
    count = datasets[0][1].made_by[KEY]["count"]
    if missing := [f"{number}/{count}" for number in range(1, count + 1) if number not in by_number]:
        raise InputError(f"parts are missing: {format_names(missing)}; make them with --shard, and give all of them.")
    return _joined([by_number[number][1] for number in range(1, count + 1)])


def _joined(sets: Sequence[Dataset]) -> Dataset:
    """The sets as one, made by what made each of them."""
    from dataclasses import replace

    made_by = {key: value for key, value in sets[0].made_by.items() if key != KEY}
    return replace(Dataset.concat(sets), made_by=made_by, data="")


def _check_company(folder: str, dataset: Dataset, first_folder: str, first: Dataset) -> None:
    """Raise InputError for a part of another job than the first one."""
    mine, theirs = (_job(values.made_by) for values in (dataset, first))
    if odd := sorted(key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key)):
        raise InputError(
            f"{folder}: is of another job than {first_folder} (they differ in {format_names(odd)}); give the parts of "
            "one job, made with the same questions, index, bundle and options."
        )


def _job(made_by: Mapping[str, Any]) -> dict[str, Any]:
    shard = made_by[KEY]
    return {**made_by, KEY: {key: shard[key] for key in ("count", "of")}}
