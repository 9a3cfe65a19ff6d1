"""Read a mixture: a JSON file that declares which files train which perspective.

    {"perspectives": [
      {"name": "relevance", "losses": ["bce", "listwise"], "dev": "relevance.dev.jsonl",
       "train": [{"file": "relevance.train.jsonl", "epochs": 1}, {"file": "in_document.train.jsonl", "epochs": 3}]},
      {"name": "sts", "losses": ["mse5"], "dev": "sts.dev.jsonl", "train": [{"file": "sts.train.jsonl", "epochs": 3}]}]}

Paths are relative to the folder of the data. Rows are {"id", "question", "sentence", "label"}, one JSON object a line;
they may have a "kind", by which they can be left out, and the raw output of a "teacher", which some losses learn from.
The first loss determines the meaning of the labels and how the texts are encoded. Most losses encode them together, for
one of the encoder's outputs (a cross-encoder). Losses such as "cosine5", "in-batch" or "triplet(margin=0.2)" encode
them separately, for the product of their vectors (a bi-encoder); see losses.py for all losses.

A bi-encoder may set "pooling" (mean, cls, max) and "similarity" (cosine, dot). With "late", texts are compared token by
token: "projected", "wide", "states", "words" (for TK), or an object with the "form" and other settings
(models/late_interaction/late.py). With "sampling": {"negatives": "hard", "among": 128}, the rows are positive pairs,
and a negative is sampled for each during training (sampling.py). With "level": "document", a bundle scores whole
documents by the perspective. "epochs" may be a fraction: 0.5 is a sample of half of the questions.

Files of triples may have millions of lines; they are read during training (triples.py). If they hold ids, name the
files of the texts: {"triples": "triples.tsv.gz", "questions": "questions.tsv", "corpus": ["docs.jsonl"],
"epochs": 0.5}; "block" is the number of triples that are shuffled in memory. A bi-encoder's best checkpoint may be
selected by a search instead of dev rows: "dev": {"questions": "dev.json", "qrels": "dev.qrels",
"corpus": ["docs.jsonl"], "sample": 5000} (retrieval.py).

The mixture may also have "settings", such as {"checkpoint": …, "learning_rate": 3e-6}: see mpir.lab.train.settings.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from mpir.core.columns import Level
from mpir.errors import InputError, error_context, format_names, format_value
from mpir.lab.train.examples import Example, read_rows
from mpir.lab.train.losses import Loss, loss_named
from mpir.lab.train.mixture_schema import paths, read_declared, read_epochs
from mpir.lab.train.retrieval import Retrieval
from mpir.lab.train.sampling import Sampling
from mpir.lab.train.triples import BLOCK, TripleFile
from mpir.models.late_interaction.late import LateInteraction
from mpir.models.vectors.embedding import MEAN, Pooling
from mpir.validation import check_choice, whole_number

log = logging.getLogger(__name__)
Groups = list[list[Example]]
"""Rows grouped by question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The training data and losses of one perspective.

    `pooling` makes the vectors of separately encoded texts; with `sampling`, negatives are sampled during training.
    `triples` are files that are never in memory as a whole, with their epochs. With `retrieval`, the best checkpoint
    is selected by a search, and there are no dev rows. `level` is the unit that a bundle scores: sentence or document.
    """

    name: str
    losses: tuple[Loss, ...]
    train: tuple[tuple[Groups, float], ...]
    dev: list[Example]
    pooling: Pooling | LateInteraction = MEAN
    sampling: Sampling | None = None
    triples: tuple[tuple[TripleFile, float], ...] = ()
    retrieval: Retrieval | None = None
    level: Level = "sentence"

    @property
    def is_bi_encoder(self) -> bool:
        """Whether the two texts are encoded separately and compared by their vectors."""
        return self.losses[0].two_tower

    @property
    def is_ranking(self) -> bool:
        """Whether a loss needs rows with and without a positive label for each question."""
        return any(loss.ranking for loss in self.losses)

    @property
    def is_chosen_by_dev(self) -> bool:
        """Whether dev can rank checkpoints: its figure differs between the labels as scores and their negation."""
        if self.retrieval is not None:
            return True
        labels, metric = np.array([row.label for row in self.dev]), self.losses[0].metric
        return metric(self.dev, labels) != metric(self.dev, -labels)


def read_mixture(
    path: str | Path, folder: str | Path | None = None, *, without: Collection[str] = (), progress: bool = False
) -> list[Task]:
    """Read a mixture and all of its files, which are in `folder` or else next to it; triples are only checked.

    `without` lists parts to leave out, for an ablation: a perspective, a file, a kind of row, or ``file:kind``. With a
    ranking loss, a question that loses all of its positives or negatives is also left out.

    Raises:
        InputError: a missing file or key; an unknown key or loss; a repeated or reserved name; a label out of range,
            or a missing teacher's score (with file and line); no positives; an unknown exclusion; or dev rows that
            cannot distinguish checkpoints.
    """
    declared = read_declared(path)
    root = Path(path).parent if folder is None else Path(folder)
    reader = _Reader(root, set(without), set(), progress)
    tasks = [_task(item, reader, str(path)) for item in declared]
    absent = sorted(set(without) - reader.names)
    if absent:
        raise InputError(
            f"{path}: there is no {format_value(absent[0])} to leave out; choose from "
            f"{format_names(sorted(reader.names))}."
        )
    selected = [task for task in tasks if task.name not in without]
    if not selected:
        raise InputError(f"{path}: no perspective is left to train; leave fewer out.")
    if all(task.level == "document" for task in selected):
        raise InputError(f"{path}: all perspectives read documents, but a bundle reads sentences, too; change a level.")
    _check_choice(selected, str(path))
    return selected


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the files of a mixture, except those in `without`; adds everything that can be left out to `names`."""

    folder: Path
    without: set[str]
    names: set[str]
    progress: bool

    def rows(self, file: str, losses: tuple[Loss, ...], top: float) -> list[Example]:
        """Return a file's rows, except those that are left out."""
        rows = read_rows(self.folder / file, top, distilled=any(loss.distilled for loss in losses))
        if not rows:
            raise InputError(f"{self.folder / file}: has no rows; add some, or take the file out of the mixture.")
        self.names.update({file}, *({row.subset, f"{file}:{row.subset}"} for row in rows if row.subset))
        if file in self.without:
            return []
        selected = [row for row in rows if not {row.subset, f"{file}:{row.subset}"} & self.without]
        if len(selected) == len(rows) or not any(loss.ranking for loss in losses):
            return selected
        return [row for group in _groups(selected) for row in group if len({r.label > 0 for r in group}) == 2]

    def triples(self, file: dict[str, Any], losses: tuple[Loss, ...], name: str, location: str) -> TripleFile | None:
        """Return a checked file of triples, or None if it is left out; its texts are in the same folder."""
        self.names.add(file["triples"])
        if {file["triples"], name} & self.without:
            return None
        graded = [str(loss) for loss in losses if 1 < loss.top < math.inf]
        if graded:
            raise InputError(
                f"{location}: {graded[0]} needs graded labels, which triples do not have; choose another loss."
            )
        block = whole_number(f"{location}: {file['triples']}: block", file.get("block", BLOCK))
        return TripleFile(
            self.folder / file["triples"],
            questions=self.folder / file["questions"] if "questions" in file else None,
            corpus=[self.folder / path for path in paths(f"{location}: corpus", file.get("corpus", []))],
            block=block,
            distilled=any(loss.distilled for loss in losses),
            progress=self.progress,
        )


def _task(item: dict[str, Any], reader: _Reader, location: str) -> Task:
    """Return the task of a declared perspective."""
    name, location = item["name"], f"{location}: {item['name']}"
    losses, pooling = _how(item, location)
    reader.names.add(name)
    top = min(loss.top for loss in losses)
    declared = [(file, read_epochs(file, location)) for file in item["train"]]
    train = tuple(
        (_groups(rows), epochs)
        for file, epochs in declared
        if "triples" not in file and (rows := reader.rows(file["file"], losses, top))
    )
    triples = tuple(
        (triple_file, epochs)
        for file, epochs in declared
        if "triples" in file and (triple_file := reader.triples(file, losses, name, location))
    )
    dev, retrieval = _dev(item["dev"], reader.folder, losses, location)
    level = item.get("level", "sentence")
    check_choice(f"{location}: level", level, get_args(Level))
    task = Task(
        name=name,
        losses=losses,
        train=train,
        dev=dev,
        pooling=pooling,
        sampling=_sampling(item, losses, location),
        triples=triples,
        retrieval=retrieval,
        level=level,
    )
    if name not in reader.without:
        _check(task, location)
    return task


def _dev(
    declared: Any, folder: Path, losses: tuple[Loss, ...], location: str
) -> tuple[list[Example], Retrieval | None]:
    """Return the rows, or the search, by which the best checkpoint is selected."""
    if isinstance(declared, dict):
        if not losses[0].two_tower:
            raise InputError(f"{location}: only a bi-encoder can be selected by retrieval; give a file of rows as dev.")
        return [], Retrieval.read(declared, folder, location)
    rows = read_rows(folder / declared, min(loss.top for loss in losses))
    if not rows:
        raise InputError(f"{folder / declared}: has no rows, and the best checkpoint is chosen on them; add some.")
    return rows, None


def _check(task: Task, location: str) -> None:
    if not task.triples and not any(row.label > 0 for groups, _ in task.train for group in groups for row in group):
        raise InputError(f"{location} has no row with a positive label; there is nothing to learn.")
    if task.triples and task.sampling:
        raise InputError(f"{location}: triples have negatives, so there is nothing to sample; leave one of them out.")
    if task.is_ranking and task.sampling is None:
        _check_rivals(task.train, location)


def _check_choice(tasks: Sequence[Task], location: str) -> None:
    """Warn about dev rows that cannot rank checkpoints. Raises InputError if no task has others."""
    blind = [task.name for task in tasks if not task.is_chosen_by_dev]
    if not blind:
        return
    message = (
        f"{location}: the dev rows of {format_names(blind)} give every checkpoint the same figure, so none is chosen "
        "by them; add rows of other labels, in a ranking to the same questions."
    )
    if len(blind) == len(tasks):
        raise InputError(message)
    log.warning(message)


def _how(item: dict[str, Any], location: str) -> tuple[tuple[Loss, ...], Pooling | LateInteraction]:
    """Return the losses of a perspective, and the pooling of its vectors."""
    with error_context(location):
        losses = tuple(loss_named(text) for text in item["losses"])
        pooling = _pooling(item)
    if len({loss.two_tower for loss in losses}) == 2:
        raise InputError(f"{location}: losses of cosines and of logits cannot be added up; choose one kind.")
    if isinstance(pooling, LateInteraction) and not losses[0].two_tower:
        raise InputError(
            f"{location}: {losses[0]} is a cross-encoder loss, but late needs a bi-encoder loss; choose one."
        )
    return losses, pooling


def _pooling(item: dict[str, Any]) -> Pooling | LateInteraction:
    late = item.get("late")
    if late is None:
        return Pooling(item.get("pooling", MEAN.method), item.get("similarity", MEAN.similarity))
    if not isinstance(late, str | dict) or {"pooling", "similarity"} & set(item):
        raise InputError(f"late is {format_value(late)}; expected a form or an object, without pooling and similarity.")
    return LateInteraction.from_options({"form": late} if isinstance(late, str) else late)


def allot(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks with the outputs of late interaction allotted after the cross-encoders', one each.

    Raises:
        InputError: a task that takes all remaining outputs is not the last.
    """
    location: int | None = sum(not task.is_bi_encoder for task in tasks)
    allotted = []
    for task in tasks:
        if isinstance(task.pooling, LateInteraction) and task.pooling.width != 0:
            if location is None:
                raise InputError(
                    f"{task.name}: no outputs remain for its projection; set the width of the task that takes all."
                )
            allotted.append(replace(task, pooling=replace(task.pooling, output=location)))
            location = None if task.pooling.width is None else location + task.pooling.width
        else:
            allotted.append(task)
    return allotted


def outputs_needed(tasks: Sequence[Task], width: Callable[[], int]) -> int:
    """Return the number of outputs for all tasks, at least 1; `width` returns the encoder's width if it is needed."""
    late = [task.pooling for task in tasks if isinstance(task.pooling, LateInteraction) and task.pooling.width != 0]
    ends = [late_task.output + (width() if late_task.width is None else late_task.width) for late_task in late]
    return max(1, sum(not task.is_bi_encoder for task in tasks), *ends)


def _sampling(item: dict[str, Any], losses: tuple[Loss, ...], location: str) -> Sampling | None:
    declared = item.get("sampling")
    if declared is None:
        return None
    if not isinstance(declared, dict) or set(declared) - {"negatives", "among"} or not losses[0].two_tower:
        raise InputError(
            f'{location}: sampling is {format_value(declared)}; expected {{"negatives": "hard", "among": 128}}, for a '
            "bi-encoder loss."
        )
    with error_context(location):
        return Sampling(**declared)


def _check_rivals(train: tuple[tuple[list[list[Example]], float], ...], location: str) -> None:
    for group in (group for groups, _ in train for group in groups):
        if len({row.label > 0 for row in group}) < 2:
            lacks = "negative" if group[0].label > 0 else "positive"
            raise InputError(
                f"{location}: the question {format_value(group[0].group)} has no {lacks} row, which a ranking loss "
                "needs; add one, leave the question out, or use bce alone."
            )
        questions = list(dict.fromkeys(row.question for row in group))
        if len(questions) > 1:
            raise InputError(
                f"{location}: the id {format_value(group[0].group)} is that of several questions "
                f"({format_value(questions[0])}, {format_value(questions[1])}), whose rows a ranking loss would "
                "compare. Give each question an id of its own, or use bce alone."
            )


def _groups(rows: list[Example]) -> list[list[Example]]:
    groups: dict[str, list[Example]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    return list(groups.values())
