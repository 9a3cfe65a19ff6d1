"""Score questions in shards, and merge the shards into the result of a single run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpir.core.checksum import fingerprint
from mpir.core.text.types import Question
from mpir.errors import InputError
from mpir.files.job_shards import FinishedShard, Shard, in_order
from mpir.tune.dataset import Dataset

KEY = "shard"
"""The manifest entry that describes the shard."""


def shard_facts(shard: Shard, questions: Sequence[Question]) -> dict[str, Any]:
    """The facts for a shard's manifest: which shard it is, and the questions of the whole job."""
    if shard.count == 1:
        return {}
    of = fingerprint([[question.id, question.body] for question in questions])
    return {KEY: {"number": shard.number, "count": shard.count, "of": of}}


def merge(folders: Sequence[str | Path]) -> Dataset:
    """Merge all shards of one job into the set that a single run makes.

    Raises:
        ArtefactError: a folder has no scored questions, or is damaged.
        InputError: a shard is missing, given twice, or from another job.
    """
    datasets = {Path(folder): Dataset.load(folder) for folder in folders}
    shards = in_order([_as_shard(Path(folder), datasets[Path(folder)]) for folder in folders])
    return _joined([datasets[shard.folder] for shard in shards])


def _as_shard(folder: Path, dataset: Dataset) -> FinishedShard:
    """The shard in a scored set. Raises InputError for a complete set."""
    if KEY not in dataset.made_by:
        raise InputError(f"{folder}: is a complete set, not a shard; give folders of shards.")
    shard = dataset.made_by[KEY]
    job = {key: value for key, value in dataset.made_by.items() if key != KEY}
    return FinishedShard(
        folder=folder, position=Shard(shard["number"], shard["count"]), job={**job, "questions": shard["of"]}
    )


def _joined(sets: Sequence[Dataset]) -> Dataset:
    """The sets joined into one, with their common settings."""
    made_by: Mapping[str, Any] = {key: value for key, value in sets[0].made_by.items() if key != KEY}
    return replace(Dataset.concat(sets), made_by=made_by, data="")
