"""Settings for sampling training triples, and their dependencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpir.errors import InputError
from mpir.lab.train.clicks import Recipe
from mpir.validation import whole_number

NAMES = {"skip": "negatives.skip", "negatives": "negatives.most", "evaluation": "exclude"}
"""The command line's names of settings whose values are checked here."""


@dataclass(frozen=True, kw_only=True)
class TripleSettings:
    """The source of candidates (index, run_file or random), the judgements, and the number of triples.

    `depth` is the number of candidates of a query, `skip` the number of best ones to exclude, `negatives` the
    maximum for each relevant document, and `number` the maximum number of triples. `search` has options for searching
    `index`.
    """

    output: Path
    index: str | None = None
    run_file: Path | None = None
    random: bool = False
    questions: Path | None = None
    qrels: Sequence[Path] = ()
    corpus: Sequence[str] | None = None
    evaluation: Sequence[Path] = ()
    depth: int = 500
    skip: int = 0
    negatives: int = 20
    number: int = 10_000_000
    recipe: Recipe = "filtered"
    keep_judged: bool = False
    seed: int = 1
    search: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise InputError for a number that is too small, or an option that lacks another."""
        for option, lowest in (("depth", 1), ("skip", 0), ("negatives", 1), ("number", 1), ("seed", 0)):
            whole_number(NAMES.get(option, option), getattr(self, option), minimum=lowest)
        for option, needed in (("index", "questions"), ("random", "corpus"), ("evaluation", "questions")):
            if getattr(self, option) and not getattr(self, needed):
                raise InputError(f"{NAMES.get(option, option)} needs {needed}; give them, or leave it out.")
