"""Check by id and text that no evaluation question is in the training data."""

from __future__ import annotations

from collections.abc import Iterable

from mpir.core.text.characters import normalise
from mpir.errors import InputError, format_value


class EvaluationQuestions:
    """Questions reserved for evaluation, identified by id, and by text without punctuation."""

    def __init__(self, questions: Iterable[tuple[str, str]]) -> None:
        """Register the (id, text) of each question reserved for model selection or reporting."""
        pairs = list(questions)
        self._ids = {identifier for identifier, _ in pairs}
        self._texts = {normalise(text) for _, text in pairs}

    def holds(self, identifier: str, text: str) -> bool:
        """Whether a question is reserved for evaluation, by its id or text."""
        return identifier in self._ids or normalise(text) in self._texts

    def refuse(self, identifier: str, text: str) -> None:
        """Raise InputError for a question reserved for evaluation."""
        if self.holds(identifier, text):
            raise InputError(
                f"question {format_value(identifier)}: {format_value(text)} is kept for evaluation and may not be "
                "trained on; remove it from the training data."
            )
