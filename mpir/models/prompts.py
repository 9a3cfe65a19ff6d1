"""The prompts that an embedding model expects before a query and before a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mpir.core.text.types import Pair
from mpir.errors import InputError, format_value
from mpir.validation import check_choice

TITLES = ("joined", "pair", "separated")


@dataclass(frozen=True, slots=True)
class Prompts:
    """A model's prompts for queries and documents, and how it reads them.

    Attributes:
        query: the text before a query.
        document: the text before a document.
        lowercase: whether the model reads lower-cased text.
        titles: how a document's first line, its title, stands before its other text: ``joined`` to it, in a ``pair`` of
            two segments, or ``separated`` by the tokenizer's separator in one segment.

    Raises:
        InputError: a prompt that is not a string, or an unknown form of titles.
    """

    query: str = ""
    document: str = ""
    lowercase: bool = False
    titles: str = "joined"

    def __post_init__(self) -> None:
        for name in ("query", "document"):
            if not isinstance(prompt := getattr(self, name), str):
                raise InputError(f"{name}_prompt is {format_value(prompt)}; expected text.")
        check_choice("titles", self.titles, TITLES)

    @property
    def identity(self) -> dict[str, Any]:
        """The prompts' part of the identity of vectors; empty without prompts."""
        prompts: dict[str, Any] = {"prompts": [self.query, self.document]} if self.query or self.document else {}
        prompts |= {} if self.titles == "joined" else {"titles": self.titles}
        return prompts | ({"lowercase": True} if self.lowercase else {})

    def apply_to_pairs(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        """Return pairs with the prompts before their texts."""
        if not (self.query or self.document or self.lowercase):
            return pairs
        sides = (self.query, [query for query, _ in pairs]), (self.document, [text for _, text in pairs])
        queries, texts = (self.apply(prompt, side) for prompt, side in sides)
        return list(zip(queries, texts, strict=True))

    def apply(self, prompt: str, texts: Sequence[str]) -> list[str]:
        """Return texts with one of the prompts prepended."""
        prompted = [f"{prompt}{text}" for text in texts]
        return [text.lower() for text in prompted] if self.lowercase else prompted
