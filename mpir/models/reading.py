"""Ways of reading a transformer: what is made of the states that it gives a sequence of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from mpir.models.pooling import MEAN, Pooling, padded_vectors
from mpir.models.tokenise import TokenSequence
from mpir.models.unpadded import UnpaddedBert


class Reading(Protocol):
    """A value that says how to read N sequences: one row of numbers each. Worker processes are told it."""

    @property
    def purpose(self) -> str:
        """What a checkpoint has to be trained for, to be read this way."""

    def unpadded(self, model: UnpaddedBert, sequences: Sequence[TokenSequence]) -> Tensor:
        """Rows (N, …) by the pass without padding."""

    def padded(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """Rows (N, …) by transformers' own pass over a padded batch."""

    def reads(self, weight: str, body: str) -> bool:
        """Whether a weight, by its name, has a part in it; `body` is what the names of the encoder's begin with."""


@dataclass(frozen=True, slots=True)
class Classifier:
    """The raw outputs (N, K) of the classifier on top."""

    purpose: str = "sequence classification"

    def unpadded(self, model: UnpaddedBert, sequences: Sequence[TokenSequence]) -> Tensor:
        """Raw outputs (N, K)."""
        return model(sequences)

    def padded(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """Raw outputs (N, K)."""
        logits: Tensor = model(**inputs).logits
        return logits

    def reads(self, weight: str, body: str) -> bool:
        """All of them have a part in it."""
        return True


@dataclass(frozen=True, slots=True)
class PooledVector:
    """One vector (N, W) of the last states of all tokens."""

    pooling: Pooling = MEAN
    purpose: str = "sentence encoding"

    def unpadded(self, model: UnpaddedBert, sequences: Sequence[TokenSequence]) -> Tensor:
        """Vectors (N, W)."""
        return model.vectors(sequences, self.pooling)

    def padded(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """Vectors (N, W)."""
        return padded_vectors(model, inputs, self.pooling)

    def reads(self, weight: str, body: str) -> bool:
        """Those of the encoder, but for the pooler that some classifiers read."""
        return weight.startswith(body) and not weight.startswith(f"{body}pooler.")


OUTPUTS = Classifier()
