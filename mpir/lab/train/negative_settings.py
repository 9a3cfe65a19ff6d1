"""The settings of `mpir data negatives`, and the inputs that each source of negatives needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mpir.errors import InputError
from mpir.validation import optional_whole_number, real_number, whole_number

Source = Literal["search", "candidates", "topics", "titles"]
NEEDS: dict[Source, tuple[str, ...]] = {
    "search": ("questions", "index"),
    "candidates": ("questions", "index"),
    "topics": ("questions",),
    "titles": ("corpus",),
}
"""The inputs that each source needs."""
MAX_NEGATIVES: dict[Source, int] = {"search": 8, "candidates": 8, "topics": 10, "titles": 10}
TITLES = 1100


@dataclass(frozen=True, kw_only=True)
class NegativeSettings:
    """Where negatives come from, and which sentences are too likely to be answers.

    `negatives` is the number of negatives of a question at most; of topics and titles, from each of the two rankings.
    For ``search``, `documents` is the number of first-stage results whose sentences are drawn from; for ``candidates``,
    that of those whose sentences are scored, `skip` how many of the best-scored sentences are left out, and `below` the
    share of the gold sentences' mean score that a negative must stay below. For the others, `same` is the cosine from
    which two sentences count as saying the same, `alike` that from which two questions count as the same, and
    `dev_titles` the number of titles written to `dev`.
    """

    source: Source
    output: Path
    questions: Path | None = None
    exclude: Sequence[Path] = ()
    index: str | None = None
    corpus: Sequence[str] = ()
    dev: Path | None = None
    limit: int | None = None
    negatives: int | None = None
    documents: int = 6
    skip: int = 1
    below: float = 0.95
    same: float = 0.85
    alike: float = 0.8
    dev_titles: int = 100
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise InputError for a missing input or a number out of bounds."""
        if missing := [name for name in NEEDS[self.source] if not getattr(self, name)]:
            raise InputError(f"source {self.source} needs {' and '.join(missing)}, which is not given.")
        for option in ("limit", "negatives"):
            optional_whole_number(option, getattr(self, option))
        for option, lowest in (("documents", 1), ("skip", 0), ("dev_titles", 1), ("seed", 0)):
            whole_number(option, getattr(self, option), minimum=lowest)
        for option in ("below", "same", "alike"):
            real_number(f"negatives.{option}", getattr(self, option), "a number above 0", lambda value: value > 0)
        if self.dev and self.dev_titles >= self.max_titles:
            raise InputError(
                f"negatives.dev_titles is {self.dev_titles}; expected fewer than the "
                f"{self.max_titles} titles of the limit."
            )

    @property
    def max_negatives(self) -> int:
        """The number of negatives of a question at most."""
        return self.negatives or MAX_NEGATIVES[self.source]

    @property
    def max_titles(self) -> int:
        """The number of titles at most."""
        return self.limit or TITLES
