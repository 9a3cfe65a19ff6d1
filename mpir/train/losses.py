"""What a perspective is trained to do. A loss maps (logits, labels, groups) of one batch to one number.

`logits` (N,) are a head's raw outputs, `labels` (N,) its targets, `groups` (N,) the question each row belongs to.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]


def binary_cross_entropy(logits: Tensor, labels: Tensor, groups: Tensor) -> Tensor:
    """Labels 0 or 1, each row on its own (the paper's loss for relevance)."""
    return functional.binary_cross_entropy_with_logits(logits, labels)


def listwise_softmax(logits: Tensor, labels: Tensor, groups: Tensor) -> Tensor:
    """Each positive against its question's negatives (ListNet's top-one loss with one positive at a time).

    Cao et al., "Learning to Rank: From Pairwise Approach to Listwise Approach" (2007). A question without a positive
    or without a negative in the batch adds nothing.
    """
    rivals = (groups[:, None] == groups[None, :]) & (labels[None, :] <= 0)
    positives = (labels > 0) & rivals.any(dim=1)
    if not positives.any():
        return logits.sum() * 0.0
    against = logits[None, :].masked_fill(~rivals, float("-inf"))[positives]
    own = logits[positives]
    return (torch.logsumexp(torch.cat([own[:, None], against], dim=1), dim=1) - own).mean()


def pairwise_logistic(logits: Tensor, labels: Tensor, groups: Tensor) -> Tensor:
    """Every better row of a question above every worse one (RankNet, Burges et al. 2005)."""
    pairs = (groups[:, None] == groups[None, :]) & (labels[:, None] > labels[None, :])
    if not pairs.any():
        return logits.sum() * 0.0
    return functional.softplus(-(logits[:, None] - logits[None, :])[pairs]).mean()


def scaled_squared_error(top: float) -> Loss:
    """Mean squared error on 0 to `top`, divided by top², so that scales of any width weigh alike."""

    def loss(logits: Tensor, labels: Tensor, groups: Tensor) -> Tensor:
        return functional.mse_loss(torch.sigmoid(logits), labels / top)

    return loss


LOSSES: dict[str, Loss] = {
    "bce": binary_cross_entropy,
    "listwise": listwise_softmax,
    "pairwise": pairwise_logistic,
    "mse5": scaled_squared_error(5.0),
    "mse4": scaled_squared_error(4.0),
}
