"""A mixture: which files train which perspective, declared in one small JSON file.

    {"perspectives": [
      {"name": "relevance", "losses": ["bce", "listwise"], "dev": "relevance.dev.jsonl",
       "train": [{"file": "relevance.train.jsonl", "epochs": 1}, {"file": "in_document.train.jsonl", "epochs": 3}]},
      {"name": "sts", "losses": ["mse5"], "dev": "sts.dev.jsonl", "train": [{"file": "sts.train.jsonl", "epochs": 3}]}]}

Paths are relative to the folder of the data. Rows are {"id", "question", "sentence", "label"}, one JSON object a line.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpir.errors import InputError
from mpir.files import read_json, read_json_lines
from mpir.train.losses import LOSSES

TOP_LABEL = {"bce": 1.0, "mse4": 4.0, "mse5": 5.0}
RANKING = {"listwise", "pairwise"}
MOST_ROWS_PER_QUESTION = 16


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled (question, sentence) pair; `group` is the question's id."""

    group: str
    question: str
    sentence: str
    label: float


@dataclass(frozen=True, slots=True)
class Task:
    """One perspective's data: training groups with the number of times each file is seen, dev rows, and losses."""

    name: str
    losses: tuple[str, ...]
    train: tuple[tuple[list[list[Row]], int], ...]
    dev: list[Row]


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one perspective for one step; `task` is the perspective's index, and so the model's output."""

    task: int
    rows: list[Row]


def read_mixture(path: str | Path, folder: str | Path | None = None) -> list[Task]:
    """Read a mixture and all of its files, which are in `folder` or else beside it.

    Raises:
        InputError: a missing file or key, an unknown loss, a label out of range (file and line named), no positives.
    """
    declared = read_json(path)
    root = Path(path).parent if folder is None else Path(folder)
    try:
        return [_task(item, root, str(path)) for item in declared["perspectives"]]
    except KeyError as error:
        raise InputError(f"{path}: the key {error} is missing; see the example in mpir/train/mixture.py.") from error


def _task(item: dict[str, Any], folder: Path, place: str) -> Task:
    unknown = [name for name in item["losses"] if name not in LOSSES]
    if unknown:
        raise InputError(f"{place}: unknown loss {unknown[0]!r}; choose from {', '.join(LOSSES)}.")
    top = min((TOP_LABEL[name] for name in item["losses"] if name in TOP_LABEL), default=math.inf)
    train = tuple((_groups(read_rows(folder / f["file"], top)), int(f.get("epochs", 1))) for f in item["train"])
    if not any(row.label > 0 for groups, _ in train for group in groups for row in group):
        raise InputError(f"{place}: {item['name']} has no row with a positive label; there is nothing to learn.")
    if RANKING & set(item["losses"]):
        _check_rivals(train, f"{place}: {item['name']}")
    return Task(item["name"], tuple(item["losses"]), train, read_rows(folder / item["dev"], top))


def _check_rivals(train: tuple[tuple[list[list[Row]], int], ...], place: str) -> None:
    for group in (group for groups, _ in train for group in groups):
        if len({row.label > 0 for row in group}) < 2:
            lacks = "negative" if group[0].label > 0 else "positive"
            raise InputError(
                f"{place}: the question {group[0].group!r} has no {lacks} row, which a ranking loss needs; add one, "
                "leave the question out, or use bce alone."
            )


def read_rows(path: Path, top: float) -> list[Row]:
    """Read labelled rows whose labels lie between 0 and `top`. Raises InputError naming file and line."""
    rows = []
    for number, item in read_json_lines(path):
        try:
            row = Row(str(item["id"]), item["question"], item["sentence"], float(item["label"]))
        except (KeyError, TypeError, ValueError) as error:
            message = f"{path}:{number}: expected id, question, sentence and a numeric label; {error} is at fault."
            raise InputError(message) from error
        if not 0.0 <= row.label <= top:
            raise InputError(f"{path}:{number}: label {row.label} is outside 0 to {top:g}; correct the label.")
        rows.append(row)
    return rows


def _groups(rows: list[Row]) -> list[list[Row]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    return list(groups.values())


def schedule(tasks: list[Task], rows_per_batch: int, seed: int) -> list[Batch]:
    """All batches of a whole training run, fixed by the seed alone, so that a resumed run sees the same ones."""
    generator = random.Random(seed)
    batches: list[Batch] = []
    for index, task in enumerate(tasks):
        for groups, epochs in task.train:
            for _ in range(epochs):
                batches.extend(Batch(index, rows) for rows in _fill(groups, rows_per_batch, generator))
    generator.shuffle(batches)
    return batches


def _fill(groups: list[list[Row]], size: int, generator: random.Random) -> list[list[Row]]:
    batches: list[list[Row]] = [[]]
    for group in generator.sample(groups, len(groups)):
        rows = _sample(group, generator)
        if batches[-1] and len(batches[-1]) + len(rows) > size:
            batches.append([])
        batches[-1].extend(rows)
    return batches


def _sample(group: list[Row], generator: random.Random) -> list[Row]:
    """At most MOST_ROWS_PER_QUESTION rows of a question, a third of them its best-labelled ones."""
    if len(group) <= MOST_ROWS_PER_QUESTION:
        return group
    positives = [row for row in group if row.label > 0]
    negatives = [row for row in group if row.label <= 0]
    kept = generator.sample(positives, min(len(positives), MOST_ROWS_PER_QUESTION // 3))
    return kept + generator.sample(negatives, min(len(negatives), MOST_ROWS_PER_QUESTION - len(kept)))
