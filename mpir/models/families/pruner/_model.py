"""Rerankers that prune: one pass gives a document's relevance and, for each of its tokens, whether to keep it.

Provence (Chirkova et al., 2025, arXiv 2501.16214) introduced the form. A sentence's probability is the mean of its
tokens', as in OpenProvence, whose files mpir reads (_checkpoint.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mpir.models.bert.base import Batch, OwnPass, UnpaddedModel
from mpir.models.bert.unpadded import can_unpad, unpad
from mpir.models.tokens.tokenise import TokenSequence
from mpir.types import I64, Bool

KEPT_CLASS = 1
"""The class of a token that is kept."""
LEAST_DISTANCE = 1e-6
"""The least distance of a probability from 0 and 1 in a log-odds."""


class Pruner(OwnPass, torch.nn.Module):
    """A sequence classifier, and a linear layer over the last states of its tokens."""

    def __init__(self, ranking_model: Any, pruning_head: Any) -> None:
        super().__init__()
        self.ranking_model, self.pruning_head = ranking_model, pruning_head

    @property
    def config(self) -> Any:
        """The classifier's configuration."""
        return self.ranking_model.config

    def can_unpad(self) -> bool:
        """Whether its classifier has a pass without padding."""
        return can_unpad(self.ranking_model)

    def unpad(self) -> UnpaddedPruner:
        """The pass of its classifier, and then the layer of tokens."""
        return UnpaddedPruner(unpad(self.ranking_model), self)


class UnpaddedPruner(UnpaddedModel):
    """The pass without padding of a pruner: that of its classifier, and then its layer of tokens."""

    def __init__(self, ranking: UnpaddedModel, model: Pruner) -> None:
        """Use the classifier's pass and the pruner's layer."""
        self.ranking, self.tokens, self.classifier = ranking, model.pruning_head, ranking.classifier
        self.bias = ranking.bias

    def __call__(self, sequences: Sequence[TokenSequence]) -> Tensor:
        """The classifier's raw outputs (N, K)."""
        return self.ranking(sequences)

    def states_and_outputs(self, sequences: Sequence[TokenSequence]) -> tuple[Tensor, Tensor]:
        """Those of the classifier."""
        return self.ranking.states_and_outputs(sequences)

    def sentence_outputs(self, sequences: Sequence[TokenSequence], lengths: I64, is_read: Bool, **_: Any) -> Tensor:
        """Raw outputs (R, 2) of documents and their sentences: the document's relevance, and log-odds of keeping."""
        states, logits = self.ranking.states_and_outputs(sequences)
        kept = self.tokens(states).float().softmax(dim=-1)[:, KEPT_CLASS]
        means = torch.segment_reduce(kept, "mean", lengths=torch.from_numpy(lengths).to(kept.device), axis=0)
        read = means[torch.from_numpy(is_read).to(kept.device)]
        sequence_of = _sequence_of(sequences, lengths)[is_read]
        relevance = logits[:, 0].float()[torch.from_numpy(sequence_of).to(kept.device)]
        return torch.stack((relevance, torch.logit(read, LEAST_DISTANCE)), dim=1)

    def _states(self, sequences: Sequence[TokenSequence], batch: Batch) -> Tensor:
        return self.ranking._states(sequences, batch)


def _sequence_of(sequences: Sequence[TokenSequence], lengths: I64) -> I64:
    """The number of the sequence of each piece."""
    ends = lengths.cumsum()
    sequence_ends = torch.tensor([len(tokens.ids) for tokens in sequences]).cumsum(0).numpy()
    return sequence_ends.searchsorted(ends, "left")
