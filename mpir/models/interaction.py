"""How the token vectors of two texts are compared. There is no padding, so none can change a score."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor


class Interaction(Protocol):
    """Scores (D,) of D documents for one question."""

    def __call__(self, question: Tensor, documents: Tensor, lengths: Tensor) -> Tensor:
        """Score from token vectors (Q, W) and (T, W), those of the documents one after the other, each so long (D,)."""


def maxsim(question: Tensor, documents: Tensor, lengths: Tensor) -> Tensor:
    """The sum, over the question's tokens, of the best product with a token of the document: Σ_i max_j q_i·d_j."""
    products = documents.float() @ question.float().T
    best: Tensor = torch.segment_reduce(products, "max", lengths=lengths, axis=0)
    return best.sum(dim=1)
