"""How a text becomes a vector: the prompts before it, and the pooling of its tokens' states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from mpir.core.text.types import Pair
from mpir.errors import InputError, format_value
from mpir.models.vectors.vector_head import VectorHead
from mpir.validation import check_choice, optional_whole_number

if TYPE_CHECKING:  # bundles declare a pooling, which is needed before torch is imported
    from torch import Tensor

TITLES = ("joined", "pair", "separated")
PROMPTED = "passages"
"""Where a prompt stands: before each passage of a long text. Until mpir 0.2, it stood before the first one alone."""


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
        prompts: dict[str, Any] = {}
        if self.query or self.document:
            prompts = {"prompts": [self.query, self.document], "prompted": PROMPTED}
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
        return self.cased([f"{prompt}{text}" for text in texts])

    def cased(self, texts: Sequence[str]) -> list[str]:
        """Return texts in lower case if the model reads them so, else as they are."""
        return [text.lower() for text in texts] if self.lowercase else list(texts)


POOLINGS = ("mean", "cls", "max", "lasttoken")
SIMILARITIES = ("cosine", "dot")


@dataclass(frozen=True, slots=True)
class Pooling:
    """How a text's vector is computed, and how two vectors are compared.

    `method` is the ``mean`` of the tokens' states, the first token's (``cls``), the last one's (``lasttoken``), or
    their maximum in each dimension (``max``). The `head` maps the pooled vector to another, and only the first
    `dimensions` of that are used (Matryoshka). Vectors are compared by their product, which for the ``cosine`` are
    scaled to length 1. The first `skipped` tokens of a text, those of a prompt, are left out.

    Raises:
        InputError: an unknown pooling or similarity, or dimensions that are not a whole number.
    """

    method: str = "mean"
    similarity: str = "cosine"
    head: VectorHead | None = None
    dimensions: int | None = None
    _: KW_ONLY
    skipped: int = 0

    def __post_init__(self) -> None:
        for name, value, known in (("pooling", self.method, POOLINGS), ("similarity", self.similarity, SIMILARITIES)):
            check_choice(name, value, known)
        optional_whole_number("truncate_dim", self.dimensions)

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that vectors depend on besides the encoder; empty for the default pooling."""
        identity: dict[str, Any] = {}
        if (self.method, self.similarity) != (MEAN.method, MEAN.similarity):
            identity["pooling"] = [self.method, self.similarity]
        if self.head is not None:
            identity["head"] = self.head.identity
        return identity | ({} if self.dimensions is None else {"dimensions": self.dimensions})

    def width(self, hidden_size: int) -> int:
        """Return the width of vectors pooled from states of width `hidden_size`."""
        width = hidden_size if self.head is None or self.head.width is None else self.head.width
        return min(width, self.dimensions or width)

    def __call__(self, states: Tensor, mask: Tensor) -> Tensor:
        """Vectors (N, W) from states (N, T, W); `mask` (N, T) marks the tokens, at least one per text."""
        from torch.nn import functional

        states = states.float()
        if self.skipped:
            shorter = mask & (mask.cumsum(dim=1) > self.skipped)
            mask = shorter | (mask & ~shorter.any(dim=1, keepdim=True))
        pooled = {"mean": _mean, "cls": _first, "max": _maximum, "lasttoken": _last}[self.method](states, mask)
        vectors = pooled if self.head is None else self.head(pooled)
        vectors = vectors[:, : self.dimensions]
        return functional.normalize(vectors, dim=1) if self.similarity == "cosine" else vectors


MEAN = Pooling()
"""Sentence-BERT's pooling (Reimers & Gurevych 2019): unit vectors of the mean states."""


def padded_vectors(model: Any, inputs: Mapping[str, Tensor], pooling: Pooling = MEAN) -> Tensor:
    """Vectors (N, W) of a padded batch with transformers' forward pass, for any classifier over an encoder."""
    return pooling(model.base_model(**inputs).last_hidden_state, inputs["attention_mask"].bool())


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1)


def _first(states: Tensor, mask: Tensor) -> Tensor:
    first = mask.int().argmax(dim=1)
    return states.take_along_dim(first[:, None, None].expand(-1, 1, states.shape[2]), dim=1)[:, 0]


def _last(states: Tensor, mask: Tensor) -> Tensor:
    last = mask.shape[1] - 1 - mask.int().flip(1).argmax(dim=1)
    return states.take_along_dim(last[:, None, None].expand(-1, 1, states.shape[2]), dim=1)[:, 0]


def _maximum(states: Tensor, mask: Tensor) -> Tensor:
    return states.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(dim=1)
