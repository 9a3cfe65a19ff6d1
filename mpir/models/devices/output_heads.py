"""Output heads: the ways to turn a transformer's token states into results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from mpir.models.bert.base import UnpaddedModel
from mpir.models.tokens.tokenise import TokenSequence
from mpir.models.vectors.embedding import MEAN, Pooling, padded_vectors


class Reading(Protocol):
    """Specifies how to turn N sequences into a row of numbers each; it is sent to worker processes."""

    @property
    def purpose(self) -> str:
        """What a checkpoint must be trained for to be read this way."""

    def unpadded(self, model: UnpaddedModel, sequences: Sequence[TokenSequence]) -> Tensor:
        """Rows (N, …) by the pass without padding."""

    def padded(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """Rows (N, …) by transformers' own pass over a padded batch."""

    def reads(self, weight: str, body: str) -> bool:
        """Whether a weight, by its name, is used; `body` is the prefix of the encoder's weights."""


@dataclass(frozen=True, slots=True)
class Classifier:
    """The raw outputs (N, K) of the classifier."""

    purpose: str = "sequence classification"

    def unpadded(self, model: UnpaddedModel, sequences: Sequence[TokenSequence]) -> Tensor:
        """Raw outputs (N, K)."""
        return model(sequences)

    def padded(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """Raw outputs (N, K)."""
        logits: Tensor = model(**inputs).logits
        return logits

    def reads(self, weight: str, body: str) -> bool:
        """True: all weights are used."""
        return True


@dataclass(frozen=True, slots=True)
class PooledVector:
    """One vector (N, W) per sequence, pooled from the last states of all tokens."""

    pooling: Pooling = MEAN
    purpose: str = "sentence encoding"

    def unpadded(self, model: UnpaddedModel, sequences: Sequence[TokenSequence]) -> Tensor:
        """Vectors (N, W)."""
        return model.vectors(sequences, self.pooling)

    def padded(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """Vectors (N, W)."""
        return padded_vectors(model, inputs, self.pooling)

    def reads(self, weight: str, body: str) -> bool:
        """True for the encoder's weights, except the pooler, which only some classifiers use."""
        return weight.startswith(body) and not weight.startswith(f"{body}pooler.")


OUTPUTS = Classifier()
