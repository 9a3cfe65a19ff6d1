"""A mixture: which files train which perspective, declared in one small JSON file.

    {"perspectives": [
      {"name": "relevance", "losses": ["bce", "listwise"], "dev": "relevance.dev.jsonl",
       "train": [{"file": "relevance.train.jsonl", "epochs": 1}, {"file": "in_document.train.jsonl", "epochs": 3}]},
      {"name": "sts", "losses": ["mse5"], "dev": "sts.dev.jsonl", "train": [{"file": "sts.train.jsonl", "epochs": 3}]}]}

Paths are relative to the folder of the data. Rows are {"id", "question", "sentence", "label"}, one JSON object a line;
they may have a "kind", by which they can be left out, and the raw output of a "teacher", which some losses learn from.
The first loss says what the labels mean, and how the texts are read: together, for one of the encoder's outputs (a
cross-encoder), or with losses such as "cosine5", "in-batch" or "triplet(margin=0.2)" apart, for the product of their
vectors (a bi-encoder). There "pooling" (mean, cls, max) and "similarity" (cosine, dot) may say what the vectors are;
see losses.py for all losses. With "sampling": {"negatives": "hard", "among": 128} the rows of such a perspective are
positive pairs, and a negative is found for each while it trains (sampling.py). "epochs" may be a fraction: 0.5 is a
sample of half of the questions. The file may hold "settings", too, such as {"checkpoint": …, "learning_rate": 3e-6}:
see mpir.train.settings.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpir.errors import InputError
from mpir.io.read import read_json, read_json_lines
from mpir.models.pooling import MEAN, Pooling
from mpir.train.losses import Loss, loss_named
from mpir.train.sampling import Sampling

MOST_ROWS_PER_QUESTION = 16


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled (question, sentence) pair; `group` is the question's id, `teacher` a better model's raw output."""

    group: str
    question: str
    sentence: str
    label: float
    teacher: float | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One perspective's data: training groups with the number of times each file is seen, dev rows, and losses.

    `pooling` is what a bi-encoder's vectors are; with `sampling`, its negatives are found while it trains.
    """

    name: str
    losses: tuple[Loss, ...]
    train: tuple[tuple[list[list[Example]], float], ...]
    dev: list[Example]
    pooling: Pooling = MEAN
    sampling: Sampling | None = None

    @property
    def is_bi_encoder(self) -> bool:
        """Whether the two texts are read apart, and compared by their vectors."""
        return self.losses[0].apart

    @property
    def is_ranking(self) -> bool:
        """Whether every question needs a row with a positive label and one without."""
        return any(loss.ranking for loss in self.losses)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one perspective for one step; `task` is the perspective's index.

    A `pool` has the pairs, these rows among them, whose texts may be their negatives.
    """

    task: int
    rows: list[Example]
    pool: list[Example] | None = None


def read_mixture(path: str | Path, folder: str | Path | None = None, *, without: Collection[str] = ()) -> list[Task]:
    """Read a mixture and all of its files, which are in `folder` or else beside it.

    `without` names what is left out, for an ablation: a perspective, a file, a kind of row, or ``file:kind``. Where
    the loss ranks, a question that has lost all of its positives or negatives by that goes, too.

    Raises:
        InputError: a missing file or key, an unknown loss, a label out of range or no teacher for a loss that wants
            one (file and line named), no positives, or something left out that is not there.
    """
    declared = read_json(path)
    root = Path(path).parent if folder is None else Path(folder)
    names: set[str] = set()
    try:
        tasks = [_task(item, root, str(path), set(without), names) for item in declared["perspectives"]]
    except KeyError as error:
        raise InputError(f"{path}: the key {error} is missing; see the example in mpir/train/data.py.") from error
    absent = sorted(set(without) - names)
    if absent:
        raise InputError(f"{path}: there is no {absent[0]!r} to leave out; choose from {', '.join(sorted(names))}.")
    kept = [task for task in tasks if task.name not in without]
    if not kept:
        raise InputError(f"{path}: no perspective is left to train; leave fewer out.")
    return kept


def _task(item: dict[str, Any], folder: Path, place: str, without: set[str], names: set[str]) -> Task:
    """One perspective's task; what could be left out of it is added to `names`."""
    name = item["name"]
    losses, pooling = _how(item, f"{place}: {name}")
    names.add(name)
    top = min(loss.top for loss in losses)
    train = tuple(
        (_groups(rows), _epochs(f, place))
        for f in item["train"]
        if (rows := _train_rows(folder, f["file"], losses, top, without=without, names=names))
    )
    place = f"{place}: {name}"
    if not any(row.label > 0 for groups, _ in train for group in groups for row in group) and name not in without:
        raise InputError(f"{place} has no row with a positive label; there is nothing to learn.")
    task = Task(name, losses, train, read_rows(folder / item["dev"], top), pooling, _sampling(item, losses, place))
    if task.is_ranking and task.sampling is None:
        _check_rivals(train, place)
    if not task.dev:
        raise InputError(f"{folder / item['dev']}: has no rows, and the best checkpoint is chosen on them; add some.")
    return task


def _how(item: dict[str, Any], place: str) -> tuple[tuple[Loss, ...], Pooling]:
    """What a perspective is trained by, and what its vectors are."""
    try:
        losses = tuple(loss_named(text) for text in item["losses"] or [None])
        pooling = Pooling(item.get("pooling", MEAN.kind), item.get("similarity", MEAN.similarity))
    except InputError as error:
        raise InputError(f"{place}: {error}") from error
    if len({loss.apart for loss in losses}) == 2:
        raise InputError(f"{place}: losses of cosines and of logits cannot be added up; choose one kind.")
    return losses, pooling


def _sampling(item: dict[str, Any], losses: tuple[Loss, ...], place: str) -> Sampling | None:
    declared = item.get("sampling")
    if declared is None:
        return None
    if not isinstance(declared, dict) or set(declared) - {"negatives", "among"} or not losses[0].apart:
        raise InputError(
            f'{place}: sampling is {declared!r:.60}; expected {{"negatives": "hard", "among": 128}}, for a loss that '
            "reads texts apart."
        )
    try:
        return Sampling(**declared)
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def _epochs(file: dict[str, Any], place: str) -> float:
    epochs = file.get("epochs", 1)
    if isinstance(epochs, bool) or not isinstance(epochs, int | float) or not 0 < epochs < math.inf:
        raise InputError(f"{place}: {file['file']}: epochs is {epochs!r}; expected a number above 0.")
    return epochs


def _train_rows(
    folder: Path, file: str, losses: tuple[Loss, ...], top: float, *, without: set[str], names: set[str]
) -> list[Example]:
    """A file's rows, less those that are left out."""
    rows = read_rows(folder / file, top, distilled=any(loss.distilled for loss in losses))
    names |= {file, *(name for row in rows if row.kind for name in (row.kind, f"{file}:{row.kind}"))}
    if file in without:
        return []
    kept = [row for row in rows if not {row.kind, f"{file}:{row.kind}"} & without]
    if len(kept) == len(rows) or not any(loss.ranking for loss in losses):
        return kept
    return [row for group in _groups(kept) for row in group if len({r.label > 0 for r in group}) == 2]


def _check_rivals(train: tuple[tuple[list[list[Example]], float], ...], place: str) -> None:
    for group in (group for groups, _ in train for group in groups):
        if len({row.label > 0 for row in group}) < 2:
            lacks = "negative" if group[0].label > 0 else "positive"
            raise InputError(
                f"{place}: the question {group[0].group!r} has no {lacks} row, which a ranking loss needs; add one, "
                "leave the question out, or use bce alone."
            )


def read_rows(path: Path, top: float, *, distilled: bool = False) -> list[Example]:
    """Read labelled rows whose labels lie between 0 and `top`, and each with a teacher's score if it is `distilled`.

    Raises:
        InputError: a row that is none of that (file and line are named).
    """
    rows = []
    for number, item in read_json_lines(path):
        try:
            teacher = item.get("teacher")
            row = Example(
                str(item["id"]),
                item["question"],
                item["sentence"],
                float(item["label"]),
                None if teacher is None else float(teacher),
                str(item.get("kind", "")),
            )
        except (KeyError, TypeError, ValueError) as error:
            message = f"{path}:{number}: expected id, question, sentence and a numeric label; {error} is at fault."
            raise InputError(message) from error
        if not 0.0 <= row.label <= top:
            raise InputError(f"{path}:{number}: label {row.label} is outside 0 to {top:g}; correct the label.")
        if distilled and (row.teacher is None or not math.isfinite(row.teacher)):
            raise InputError(
                f"{path}:{number}: the teacher's score is {row.teacher}, but a loss learns from it; "
                "add scores with data_scripts/teacher_scores.py, or choose other losses."
            )
        rows.append(row)
    return rows


def _groups(rows: list[Example]) -> list[list[Example]]:
    groups: dict[str, list[Example]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    return list(groups.values())


def schedule(tasks: list[Task], rows_per_batch: int, seed: int, count: int | None = None) -> list[Batch]:
    """All batches of a whole training run, fixed by the seed alone, so that a resumed run sees the same ones.

    A `count` cuts the mixture off after so many batches, or repeats it in another order until there are so many.
    """
    generator = random.Random(seed)
    parts: list[list[Batch]] = []
    for index, task in enumerate(tasks):
        for groups, epochs in task.train:
            for part in [1.0] * int(epochs) + [epochs % 1] * (epochs % 1 > 0):
                chosen = generator.sample(groups, max(1, round(part * len(groups))))
                if task.sampling is None:
                    parts.extend([Batch(index, rows)] for rows in _fill(chosen, rows_per_batch, generator))
                else:
                    parts.extend(_pools(index, task.sampling, chosen, rows_per_batch, generator))
    generator.shuffle(parts)
    batches = [batch for part in parts for batch in part]
    if count is not None and len(batches) < count:
        batches += schedule(tasks, rows_per_batch, seed + 1, count - len(batches))
    return batches[:count]


def _pools(
    task: int, sampling: Sampling, groups: list[list[Example]], size: int, generator: random.Random
) -> list[list[Batch]]:
    """The batches of each pool of positive pairs; they follow each other, since one pass finds all their negatives."""
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
    """At most MOST_ROWS_PER_QUESTION rows of a question, a third of them its best-labelled ones."""
    if len(group) <= MOST_ROWS_PER_QUESTION:
        return group
    positives = [row for row in group if row.label > 0]
    negatives = [row for row in group if row.label <= 0]
    kept = generator.sample(positives, min(len(positives), MOST_ROWS_PER_QUESTION // 3))
    return kept + generator.sample(negatives, min(len(negatives), MOST_ROWS_PER_QUESTION - len(kept)))
