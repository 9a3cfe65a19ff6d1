"""Text that an embedding model was trained to read before a query and before a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mpir.errors import InputError, format_value


@dataclass(frozen=True, slots=True)
class Prompts:
    """What a model was trained to read before a query and before a document, and whether all in lower case.

    Raises:
        InputError: a prompt that is no text.
    """

    query: str = ""
    document: str = ""
    lowercase: bool = False

    def __post_init__(self) -> None:
        for name in ("query", "document"):
            if not isinstance(prompt := getattr(self, name), str):
                raise InputError(f"{name}_prompt is {format_value(prompt)}; expected text.")

    @property
    def identity(self) -> dict[str, Any]:
        """What vectors depend on: nothing without prompts."""
        prompts = {"prompts": [self.query, self.document]} if self.query or self.document else {}
        return prompts | ({"lowercase": True} if self.lowercase else {})

    def apply(self, prompt: str, texts: Sequence[str]) -> list[str]:
        """Return texts behind one of the prompts."""
        prompted = [f"{prompt}{text}" for text in texts]
        return [text.lower() for text in prompted] if self.lowercase else prompted
