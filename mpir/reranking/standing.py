"""The standing of an answer: year, type of study, retraction, and what the best sentence says about the question.

A probability says how well a document answers, not what it answers: "Aspirin was not effective" is a good answer to
"Does aspirin prevent preeclampsia?". Scores and order do not depend on the standing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mpir.core.results import RankedDocument
from mpir.core.text.claims import Claim, claim_of
from mpir.files.corpora.bibliography import Bibliography
from mpir.files.corpora.retractions import is_retracted_title
from mpir.files.corpora.study_types import study_type_of

CLAIMS: dict[Claim, str] = {"denies": "denies", "unknown": "says not known", "": ""}
"""The words for what a sentence says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What to know of an answer beside its probability.

    `year` is None and `study_type` "" where the record does not tell. `claim` is "denies" where the best sentence
    denies what the question asks, "unknown" where it says that nothing is known, else "".
    """

    year: int | None
    study_type: str
    is_retracted: bool
    claim: Claim

    @property
    def says(self) -> str:
        """What the best sentence says, in words; "" where it neither denies nor says that nothing is known."""
        return CLAIMS[self.claim]


def standing_of(document: RankedDocument, query: str) -> Standing:
    """Return the standing of a ranked document as an answer to a query."""
    known, best = Bibliography.of(document.metadata), document.best_sentence
    return Standing(
        year=known.year,
        study_type=study_type_of(known.types, document.title),
        is_retracted=is_retracted(document.title, document.metadata),
        claim=claim_of(best.text, query) if best else "",
    )


def is_retracted(title: str, metadata: Mapping[str, Any]) -> bool:
    """Whether a record says that the paper was retracted, by its title or its publication types."""
    return is_retracted_title(title) or Bibliography.of(metadata).is_retracted
