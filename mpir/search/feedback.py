"""Pseudo-relevance feedback: a second search with words of the best documents of the first."""

from __future__ import annotations

from dataclasses import dataclass

from mpir.validation import real_number, whole_number

LARGEST = 1000
"""Maximum number of documents and of terms for feedback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rm3:
    """RM3 (Abdul-Jaleel et al. 2004), as Anserini computes it.

    The query is expanded by the `terms` most probable words of its `documents` best documents and searched again;
    `weight` is the query's own share of the words' weights. The defaults come from dev questions
    (docs/evidence/first-stage.md).

    Raises:
        InputError: documents or terms are not whole numbers from 1 to 1,000, or the weight is outside 0 to 1.
    """

    documents: int = 5
    terms: int = 20
    weight: float = 0.8

    def __post_init__(self) -> None:
        for name in ("documents", "terms"):
            whole_number(f"rm3: {name}", getattr(self, name), maximum=LARGEST)
        real_number("rm3: weight", self.weight, "a number from 0 to 1", lambda value: 0 <= value <= 1)
