"""Jobs in shards: assign shards to processes, describe each shard in its folder, and check that a job is complete."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from mpir.errors import ArtefactError, InputError, format_names, format_value
from mpir.files.checksum import read_json_with_checksum, write_json_with_checksum

SHARD_MANIFEST = "shard.json"
"""The manifest of a shard; it is written last, so a folder that has one is complete."""
CORPUS = "corpus"
"""The entry of a job with the files of its documents."""
SLURM = ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN")
_REMEDY = "make this shard again"
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` of `count`, counted from 1."""

    number: int = 1
    count: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse ``i/n``. Raises InputError for another form, or if i is not from 1 to n."""
        number, _, count = text.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count) <= 10**6):
            raise InputError(f"shard is {format_value(text)}; expected i/n, from 1/n to n/n, such as 3/10.")
        return cls(int(number), int(count))

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> Shard:
        """Return the shard for the current task of a Slurm array; outside an array, the whole job.

        Raises:
            InputError: Slurm's variables are not whole numbers, or the array's numbers have gaps.
        """
        task, count, first = (environment.get(name, "") for name in SLURM)
        if not task or not count:
            return cls()
        if not all(text.isdecimal() for text in (task, count, first or "0")):
            raise InputError(
                f"{SLURM[0]} is {format_value(task)} and {SLURM[1]} {format_value(count)}; give the shard."
            )
        number = int(task) - int(first or 0) + 1
        if not 1 <= number <= int(count):
            raise InputError(
                f"task {task} does not fit a Slurm array of {count}, perhaps because the array's numbers have gaps; "
                "give the shard as i/n."
            )
        return cls(number, int(count))

    def share_of(self, items: Sequence[Item]) -> Sequence[Item]:
        """Return the shard's items, which are consecutive; the sizes of shards differ by at most one.

        Raises:
            InputError: there are fewer items than shards.
        """
        if len(items) < self.count:
            raise InputError(
                f"there are {len(items)} questions for {self.count} shards; make at most that many shards."
            )
        begin, end = (len(items) * number // self.count for number in (self.number - 1, self.number))
        return items[begin:end]

    def takes(self, position: int) -> bool:
        """Whether the item at a position, counted from 0, belongs to this shard; the shards take turns.

        This divides a stream of unknown length.
        """
        return position % self.count == self.number - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedShard:
    """A finished shard of a job.

    Attributes:
        folder: the shard's folder.
        position: the shard's position in the job.
        job: settings that must be the same in all shards, as JSON-able values; "kind" is the kind of content.
        details: anything else needed to join the shards.
    """

    folder: Path
    position: Shard
    job: Mapping[str, Any]
    details: Mapping[str, Any] = field(default_factory=dict)


def write_finished(
    folder: Path, shard: Shard, job: Mapping[str, Any], details: Mapping[str, Any] | None = None
) -> None:
    """Write the manifest of a shard; call it after all other files are written."""
    values = {"number": shard.number, "count": shard.count, "job": dict(job), "details": dict(details or {})}
    write_json_with_checksum(folder / SHARD_MANIFEST, values)


def is_finished(folder: str | Path) -> bool:
    """Whether a folder has the manifest of a shard."""
    return (Path(folder) / SHARD_MANIFEST).is_file()


def read_finished(folder: str | Path) -> FinishedShard:
    """Read the manifest of a shard.

    Raises:
        ArtefactError: there is none, because the shard is unfinished or the folder is something else, or it is damaged.
    """
    if not is_finished(folder):
        raise ArtefactError(
            f"{folder}: has no {SHARD_MANIFEST}, so it is an unfinished shard or not a shard; repeat the command that "
            "makes it, or give other folders."
        )
    try:
        values = read_json_with_checksum(Path(folder) / SHARD_MANIFEST, _REMEDY)
        position, job, details = Shard(values["number"], values["count"]), values["job"], values["details"]
        job["kind"], details.keys()
    except (InputError, LookupError, TypeError, AttributeError) as error:
        raise ArtefactError(f"{Path(folder) / SHARD_MANIFEST}: is damaged; {_REMEDY}.") from error
    return FinishedShard(folder=Path(folder), position=position, job=job, details=details)


def in_order(shards: Sequence[FinishedShard]) -> list[FinishedShard]:
    """Sort the shards of one job by number, and check that all are there.

    Raises:
        InputError: a shard is missing, given twice, or from another job than the first.
    """
    by_number: dict[int, FinishedShard] = {}
    for shard in shards:
        _check_same_job(shard, shards[0])
        if (number := shard.position.number) in by_number:
            folders = f"{shard.folder}: is shard {number}, and so is {by_number[number].folder}"
            raise InputError(f"{folders}; give each shard once.")
        by_number[number] = shard
    count = shards[0].position.count
    if missing := [str(Shard(number, count)) for number in range(1, count + 1) if number not in by_number]:
        raise InputError(f"shards are missing: {format_names(missing)}; make them, and give all of them.")
    return [by_number[number] for number in range(1, count + 1)]


def _check_same_job(shard: FinishedShard, first: FinishedShard) -> None:
    mine, theirs = ({"count": each.position.count, **each.job} for each in (shard, first))
    odd = sorted(key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key))
    if "kind" not in odd and CORPUS in odd:
        raise InputError(
            f"{shard.folder}: was made from another corpus than {first.folder} (they differ in "
            f"{_changed_files(shard, first)}); make the shards again from the same files."
        )
    if odd:
        raise InputError(
            f"{shard.folder}: is from another job than {first.folder} (they differ in {format_names(odd)}); give the "
            "shards of one job, made with the same questions, index, bundle and options."
        )


def _changed_files(shard: FinishedShard, first: FinishedShard) -> str:
    """Return the files in which two corpora differ, for a message."""
    mine, theirs = ({file["name"]: file for file in each.job[CORPUS].get("files", ())} for each in (shard, first))
    changed = sorted(name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name))
    return format_names(changed, 3) if changed else "their files"
