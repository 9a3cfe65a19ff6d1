"""Write the rows of `mpir data negatives`, and report how many there are of each kind."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from mpir.errors import InputError
from mpir.files.write import atomic_write
from mpir.lab.train.negative_inputs import NegativeInputs, TrainingRow
from mpir.lab.train.negative_settings import NegativeSettings


@dataclass
class Counts:
    """Numbers of written questions, and of their rows by kind."""

    groups: int = 0
    rows: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.rows.items())
        return f"{self.rows.total()} rows of {self.groups} questions ({kinds})"


def write_negatives(
    settings: NegativeSettings, inputs: NegativeInputs, groups: Iterable[Sequence[TrainingRow]]
) -> list[str]:
    """Write the rows of each question that has both a positive and a negative, and return lines about them.

    The first `dev_titles` titles go to `dev`, if that is given.

    Raises:
        InputError: no question has both.
        OutputError: an output cannot be written.
    """
    files = {settings.output: Counts(), **({settings.dev: Counts()} if settings.dev else {})}
    incomplete = 0
    with ExitStack() as stack:
        streams = {path: stack.enter_context(atomic_write(path)) for path in files}
        for group in groups:
            if len({row["label"] for row in group}) < 2:
                incomplete += 1
                continue
            to_dev = settings.dev is not None and files[settings.dev].groups < settings.dev_titles
            path = settings.dev if settings.dev and to_dev else settings.output
            streams[path].writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in group)
            files[path].groups += 1
            files[path].rows.update(row["kind"] for row in group)
        if not files[settings.output].groups:
            raise InputError(
                f"{settings.output}: no question with both a positive and a negative is left to write; give more "
                "questions or documents."
            )
    lines = [f"{path}: {counts}." for path, counts in files.items()]
    if inputs.left_out:
        lines.append(f"{inputs.left_out} questions to exclude were left out.")
    if incomplete:
        lines.append(f"{incomplete} questions without a positive or a negative were left out.")
    return lines
