"""The check that no evaluation question is in the training data, by id and by text."""

from __future__ import annotations

from collections.abc import Iterable

from mpir.errors import InputError, format_value
from mpir.text.normalise import normalise


class EvaluationQuestions:
    """Questions that may never be trained on: known by id, and by text however it is punctuated."""

    def __init__(self, questions: Iterable[tuple[str, str]]) -> None:
        """Take (id, text) of every question kept for choosing or reporting."""
        pairs = list(questions)
        self._ids = {identifier for identifier, _ in pairs}
        self._texts = {normalise(text) for _, text in pairs}

    def holds(self, identifier: str, text: str) -> bool:
        """Whether the question, by its id or its text, is kept for evaluation."""
        return identifier in self._ids or normalise(text) in self._texts

    def refuse(self, identifier: str, text: str) -> None:
        """Raise InputError if the question is kept for evaluation."""
        if self.holds(identifier, text):
            raise InputError(
                f"question {format_value(identifier)}: {format_value(text)} is kept for evaluation and may not be "
                "trained on; remove it from the training data."
            )
