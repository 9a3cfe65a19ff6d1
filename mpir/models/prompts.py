"""The prompts that an embedding model expects before a query and before a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mpir.errors import InputError, format_value


@dataclass(frozen=True, slots=True)
class Prompts:
    """A model's prompts for queries and documents, and whether it reads lower-cased text.

    Raises:
        InputError: a prompt that is not a string.
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
        """The prompts' part of the identity of vectors; empty without prompts."""
        prompts = {"prompts": [self.query, self.document]} if self.query or self.document else {}
        return prompts | ({"lowercase": True} if self.lowercase else {})

    def apply(self, prompt: str, texts: Sequence[str]) -> list[str]:
        """Return texts with one of the prompts prepended."""
        prompted = [f"{prompt}{text}" for text in texts]
        return [text.lower() for text in prompted] if self.lowercase else prompted
