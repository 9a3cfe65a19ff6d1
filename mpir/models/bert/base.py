"""The interface of forward passes without padding: outputs of a classifier, vectors of texts, states of tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mpir.models.bert.batch import Batch
from mpir.models.pooling import MEAN, Pooling
from mpir.models.tokenise import TokenSequence
from mpir.types import Bool


class UnpaddedModel(ABC):
    """The forward pass of one sequence-classification model, on its device, in its precision.

    `classifier` is the model's last layer. `bias` (1, H, L, L) of a length is added to attention's scores, None for no
    bias.
    """

    classifier: Any
    bias: Callable[[int], Tensor] | None = None

    @abstractmethod
    def __call__(self, sequences: Sequence[TokenSequence]) -> Tensor:
        """Raw outputs (N, K) of N token sequences."""

    @abstractmethod
    def _states(self, sequences: Sequence[TokenSequence], batch: Batch) -> Tensor:
        """The last states (T, W) of all rows of a batch."""

    @abstractmethod
    def states_and_outputs(self, sequences: Sequence[TokenSequence]) -> tuple[Tensor, Tensor]:
        """The states (T, W) that the last layer gives for all tokens, before a last norm, and raw outputs (N, K)."""

    def vectors(self, sequences: Sequence[TokenSequence], pooling: Pooling = MEAN) -> Tensor:
        """Pooled vectors (N, W) of each sequence's last states, in single precision."""
        batch = self._batch(sequences)
        states, count = self._states(sequences, batch), len(sequences)
        return pooling(batch.pad(states)[:count], batch.inside[:count])

    def states(self, sequences: Sequence[TokenSequence], unseen: int | None = None) -> Tensor:
        """The last states (T, W) of all tokens, sequence by sequence. No token attends to those with id `unseen`."""
        hidden = None if unseen is None else np.concatenate([tokens.ids for tokens in sequences]) == unseen
        batch = self._batch(sequences, hidden)
        return self._states(sequences, batch)[: batch.tokens]

    def _batch(self, sequences: Sequence[TokenSequence], hidden: Bool | None = None) -> Batch:
        return Batch([len(tokens.ids) for tokens in sequences], self.classifier.weight.device, hidden, self.bias)

    @staticmethod
    def _rows(sequences: Sequence[TokenSequence], batch: Batch) -> tuple[Tensor, Tensor]:
        """The ids and the types of tokens (T,), padded with zeros."""
        filling = np.zeros(len(batch.positions) - batch.tokens, np.int32)
        ids, types = (
            torch.from_numpy(np.concatenate([*arrays, filling])).to(batch.positions.device)
            for arrays in zip(*sequences, strict=True)
        )
        return ids, types
