"""From the last states of a text's tokens to one vector: by their mean, their first, or their maximum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mpir.types import F32, I64
from mpir.validation import check_choice

if TYPE_CHECKING:  # a pooling is a value that bundles declare, known before torch is imported
    from torch import Tensor

    from mpir.models.lazy import EncoderLike

POOLINGS = ("mean", "cls", "max")
SIMILARITIES = ("cosine", "dot")


@dataclass(frozen=True, slots=True)
class Pooling:
    """What a text's vector is, and how two of them are compared.

    `method` is the ``mean`` of the tokens' states, the first token's (``cls``), or their maximum in each dimension
    (``max``). Vectors are compared by their product, which for the ``cosine`` are scaled to length 1.

    Raises:
        InputError: an unknown pooling or similarity.
    """

    method: str = "mean"
    similarity: str = "cosine"

    def __post_init__(self) -> None:
        for name, value, known in (("pooling", self.method, POOLINGS), ("similarity", self.similarity, SIMILARITIES)):
            check_choice(name, value, known)

    def __call__(self, states: Tensor, mask: Tensor) -> Tensor:
        """Vectors (N, W) from states (N, T, W); `mask` (N, T) says which of them are tokens, at least one a text."""
        from torch.nn import functional

        states = states.float()
        pooled = {"mean": _mean, "cls": _first, "max": _maximum}[self.method](states, mask)
        return functional.normalize(pooled, dim=1) if self.similarity == "cosine" else pooled


MEAN = Pooling()
"""Sentence-BERT's (Reimers & Gurevych 2019): unit vectors of the mean states."""


class PooledEncoder:
    """An encoder that is read by one pooling: what makes the vectors of an index."""

    def __init__(self, encoder: EncoderLike, pooling: Pooling = MEAN) -> None:
        """Read an encoder by a pooling."""
        self.encoder, self.pooling = encoder, pooling

    @property
    def identity(self) -> dict[str, Any]:
        """The encoder's, and the pooling where it is not the usual one."""
        how = {} if self.pooling == MEAN else {"pooling": [self.pooling.method, self.pooling.similarity]}
        return {**self.encoder.identity, **how}

    def vectors(self, texts: Sequence[str]) -> tuple[F32, I64]:
        """Vectors (R, W) of N texts or their passages, and the text (R,) of each, ascending."""
        return self.encoder.vectors(texts, pooling=self.pooling)


def padded_vectors(model: Any, inputs: Mapping[str, Tensor], pooling: Pooling = MEAN) -> Tensor:
    """Vectors (N, W) of a padded batch by transformers' own pass, for any classifier over an encoder."""
    return pooling(model.base_model(**inputs).last_hidden_state, inputs["attention_mask"].bool())


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1)


def _first(states: Tensor, mask: Tensor) -> Tensor:
    return states[:, 0]


def _maximum(states: Tensor, mask: Tensor) -> Tensor:
    return states.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(dim=1)
