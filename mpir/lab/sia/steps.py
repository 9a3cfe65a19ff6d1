"""What the steps of a generation share: settings, models, counts, and the workspace that stores each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mpir.errors import InputError, format_names, format_value
from mpir.files.checksum import sha256
from mpir.files.corpora import corpus_fingerprint, read_questions
from mpir.lab.sia.rows import Item, SiaRow
from mpir.lab.sia.settings import GenerationSettings
from mpir.lab.sia.workspace import CHUNK, Record, Step, Workspace
from mpir.lab.train.leakage import EvaluationQuestions
from mpir.models.perspectives import Perspective, open_bundle
from mpir.version import __version__


class Steps:
    """Makes steps in a workspace: `run` one over any inputs, or `over_items` one over the items of another step.

    `counts` has what each step counted; `chosen` the names of the methods to make.
    """

    def __init__(self, settings: GenerationSettings, space: Workspace) -> None:
        self.settings, self.space, self.chosen = settings, space, settings.chosen()
        self.counts: dict[str, Mapping[str, int]] = {}
        self._perspectives: dict[str, Perspective] = {}

    def has(self, *methods: str) -> bool:
        """Whether one of these methods is to be made."""
        return bool({*methods} & {*self.chosen})

    def perspective(self, name: str) -> Perspective:
        """Return a perspective of the bundle. Raises InputError if there is none of this name."""
        if not self._perspectives:
            settings = self.settings
            loaded = open_bundle(settings.bundle).perspectives(
                device=settings.device, precision=settings.precision, tokens_per_batch=settings.tokens_per_batch
            )
            self._perspectives = {perspective.name: perspective for perspective in loaded}
        if name not in self._perspectives:
            raise InputError(
                f"bundle {format_value(self.settings.bundle)}: has no perspective {format_value(name)} "
                f"(only {format_names(self._perspectives)}); choose a bundle with one."
            )
        return self._perspectives[name]

    def evaluation(self) -> EvaluationQuestions:
        """Return the questions that are kept for evaluation."""
        questions = (q for path in self.settings.exclude for q in read_questions(path))
        return EvaluationQuestions((q.id, q.body) for q in questions)

    def over_items(
        self,
        name: str,
        items: Step,
        work: Any,
        identity: Mapping[str, Any] | None = None,
        *,
        divided: bool = False,
    ) -> Step:
        """Run a step that makes rows from chunks of items."""
        depends = {"items": items.fingerprint, "seed": self.settings.seed, **(identity or {})}
        return self.run(name, items_of(items), lambda batch: as_records(*work(batch)), depends, divided=divided)

    def run(
        self,
        name: str,
        inputs: Iterable[Any],
        work: Any,
        depends: Mapping[str, Any],
        *,
        counts: Mapping[str, int] | None = None,
        size: int | None = None,
        divided: bool = False,
    ) -> Step:
        """Run a step and record its counts; `counts` are those made while reading the inputs."""
        depends = {"mpir": __version__, **depends}
        step = self.space.run(name, inputs, work, depends=depends, size=size or CHUNK, divided=divided)
        self.counts[name] = {**(counts or {}), **step.counts}
        return step


def items_of(step: Step) -> Iterator[Item]:
    """Return the items of a step."""
    return map(Item.from_dict, step.records())


def as_records(rows: Iterable[SiaRow | Item], counts: Mapping[str, int]) -> tuple[list[Record], Mapping[str, int]]:
    """Return rows or items as records of a step, and the counts."""
    return [asdict(row) for row in rows], counts


def with_items(items: Step, rows: Step) -> Iterator[tuple[Item, Record]]:
    """Yield every row with its item. Both are in the items' order, and an item has at most one row."""
    stream = items_of(items)
    for record in rows.records():
        item = next(i for i in stream if (i.id, i.question) == (record["source_ids"][0], record["query"]))
        yield item, record


def source_identity(source: str) -> Any:
    """Identify a file by its content, a corpus folder by its files, and a hub dataset by its name."""
    if Path(source).is_file():
        return sha256(source)
    return corpus_fingerprint([source]) if Path(source).exists() else source
