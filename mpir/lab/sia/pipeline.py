"""Generate SIA data in named steps, each stored on disk and made only when needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import cached_property
from itertools import chain
from pathlib import Path

from mpir.errors import InputError
from mpir.files.job_shards import Shard
from mpir.lab.sia.answers import read_answers
from mpir.lab.sia.collect import Collected, collect
from mpir.lab.sia.entities import entity_finder
from mpir.lab.sia.item_steps import bioasq_rows, combined, partial, read_items, similar_rows, swap
from mpir.lab.sia.report import write_dataset, write_report
from mpir.lab.sia.settings import SHARE, Decoding, GenerationSettings, Training, is_share
from mpir.lab.sia.steps import Steps
from mpir.lab.sia.vectors import Neighbours
from mpir.lab.sia.workspace import Step, Workspace
from mpir.lab.sia.writer_steps import decoding, generate
from mpir.validation import real_number, whole_number
from mpir.version import __version__


class Generation:
    """A single generation: `run` makes every step, then collects the rows."""

    def __init__(
        self,
        settings: GenerationSettings,
        folder: str | Path,
        *,
        resume: bool = False,
        progress: bool = False,
        shard: Shard | None = None,
        accept_changes: bool = True,
    ) -> None:
        """Check the settings and open the folder. Raises InputError, ArtefactError or OutputError.

        For `shard` and `accept_changes` see `Workspace`; a shard is made by `run_shard`.
        """
        self.settings, chosen = settings, set(settings.chosen())
        real_number("sia.probability", settings.probability, SHARE, is_share)
        whole_number("seed", settings.seed, minimum=0)
        self._training = Training(checkpoint=settings.writer, **settings.training)
        Decoding(**settings.decoding)  # an invalid file, setting or missing extra is reported before any work
        paths = settings.bioasq if {"graded", "coverage"} & chosen else ()
        self._answers = {identity: answer for path in paths for identity, answer in read_answers(path).items()}
        is_shard = shard is not None and shard.count > 1
        if is_shard and "generated" in chosen:
            raise InputError(
                "the language models of the method generated learn from all rows, so it has no shards; leave the "
                "method out, or make one shard 1/1."
            )
        swaps = "swap" in chosen and not is_shard
        self._swapping = (entity_finder(settings.entities), Neighbours(settings.vectors)) if swaps else None
        space = Workspace(folder, resume=resume, progress=progress, shard=shard, accept_changes=accept_changes)
        self.steps = Steps(settings, space)

    def run(self) -> Collected:
        """Make all rows, and write them with a report and a data card. Raises InputError if there are none."""
        records = (record for step in list(self._steps()) for record in step.records())
        if (first := next(records, None)) is None:
            counts = (f"{name}: {count}" for step in self.steps.counts.values() for name, count in step.items())
            raise InputError(f"no rows were made ({', '.join(counts)}); give other inputs.")
        folder = self.steps.space.folder
        collected = collect(chain([first], records), folder, self.settings.seed)
        made_by = {"mpir": __version__, **asdict(self.settings), "steps": list(self.steps.chosen)}
        if self.steps.has("generated"):
            made_by |= {"training": asdict(self._training), "decoding": decoding(self.settings)}
        write_report(folder, collected, self.steps.counts, made_by)
        write_dataset(folder, collected, made_by)
        return collected

    def run_shard(self) -> list[Step]:
        """Make the shard's chunks of the steps that need only models and inputs; merging makes the others."""
        made = []
        if self.settings.qasc:
            items = read_items(self.steps)
            made.append(items)
            if self.steps.has("partial", "swap"):
                made.append(partial(self.steps, "", items))
            if self.steps.has("similar"):
                made.append(similar_rows(self.steps, "", items))
        return [*made, *self._bioasq]

    def _steps(self) -> Iterator[Step]:
        if self.settings.qasc:
            items = read_items(self.steps)
            yield from self._from_items("", items)
            if self.steps.has("generated"):
                gold = self._bioasq[0] if self.steps.has("graded") else None
                yield from self._from_items("generated-", generate(self.steps, items, gold))
        yield from self._bioasq

    def _from_items(self, prefix: str, items: Step) -> Iterator[Step]:
        """Apply the paper's methods to items from any source."""
        steps, made = self.steps, {}
        if steps.has("combined", "swap"):
            made["combined"] = combined(steps, prefix, items)
        if steps.has("partial", "swap", "generated"):
            made["partial"] = partial(steps, prefix, items)
        yield from (step for name, step in made.items() if steps.has(name))
        if steps.has("similar"):
            yield similar_rows(steps, prefix, items)
        if steps.has("swap") and self._swapping:
            yield swap(steps, prefix, items, list(made.values()), self._swapping)

    @cached_property
    def _bioasq(self) -> list[Step]:
        """The rows of BioASQ questions, if they are to be made."""
        if not self.steps.has("graded", "coverage"):
            return []
        return [bioasq_rows(self.steps, self._answers)]
