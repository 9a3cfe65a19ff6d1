"""A score column: its name, its level, and its role in the blend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from mpir.errors import InputError, format_value
from mpir.validation import check_choice

Level = Literal["sentence", "document"]
Role = Literal["evidence", "ordering", "first_stage"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of scores, one for each document or sentence, and how the blend treats it.

    `role` is ``evidence`` for a column that counts in S_DOC; ``ordering`` for a sentence column that orders sentences
    without being part of the S_SENT(i) in S_DOC; ``first_stage`` for the first stage's own score of documents, which
    breaks ties and whose deviation among few candidates has a lower bound (core/normalization.py). `signed`
    marks a column whose 0 means "no statement" and whose sign speaks for or against: the blend never rescales it.

    Raises:
        InputError: an unknown level or role, or a role that the level cannot have.
    """

    name: str
    level: Level
    role: Role = "evidence"
    signed: bool = False

    def __post_init__(self) -> None:
        check_choice(f"column {format_value(self.name)}: level", self.level, get_args(Level))
        check_choice(f"column {format_value(self.name)}: role", self.role, get_args(Role))
        if (self.role, self.level) in (("ordering", "document"), ("first_stage", "sentence")):
            raise InputError(
                f"column {format_value(self.name)}: a {self.level} column cannot have the role {self.role}; use "
                "another role."
            )
