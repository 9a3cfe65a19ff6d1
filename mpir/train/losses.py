"""What a perspective is trained to do. A loss maps (logits, targets, groups) of one batch to one number.

`logits` (N,) are a head's raw outputs, `groups` (N,) the question each row belongs to. The targets (N,) are the rows'
labels or, for the losses in `TAUGHT`, the raw outputs of a teacher.
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


def lambda_rank(logits: Tensor, labels: Tensor, groups: Tensor) -> Tensor:
    """The pairwise logistic loss, each pair weighted by how much nDCG changes when its two rows change places.

    Burges, "From RankNet to LambdaRank to LambdaMART" (2010); a loss in the sense of Wang et al., "The LambdaLoss
    Framework for Ranking Metric Optimization" (2018). Ranks and ideal DCG are those of the rows in the batch.
    """
    same = groups[:, None] == groups[None, :]
    pairs = same & (labels[:, None] > labels[None, :])
    if not pairs.any():
        return logits.sum() * 0.0
    gains, discounts = 2.0**labels - 1.0, _discounts(logits.detach(), same)
    ideal = same.to(gains.dtype) @ (gains * _discounts(labels, same))
    change = (gains[:, None] - gains[None, :]) * (discounts[:, None] - discounts[None, :])
    weights: Tensor = (change.abs() / ideal[:, None])[pairs]
    errors: Tensor = functional.softplus((logits[None, :] - logits[:, None])[pairs])
    return (weights * errors).sum() / len(set(groups[pairs.any(dim=1)].tolist()))


def _discounts(values: Tensor, same: Tensor) -> Tensor:
    """DCG's discount (N,) of each row at its rank among the rows of its question; of equal ones the first is first."""
    place = torch.arange(len(values), device=values.device)
    above = (values[None, :] > values[:, None]) | (
        (values[None, :] == values[:, None]) & (place[None, :] < place[:, None])
    )
    return 1.0 / torch.log2(2.0 + (same & above).sum(dim=1))


def margin_squared_error(logits: Tensor, teacher: Tensor, groups: Tensor) -> Tensor:
    """The difference of each two rows of a question shall be the teacher's (Margin-MSE).

    Hofstätter et al., "Improving Efficient Neural Ranking Models with Cross-Architecture Knowledge Distillation"
    (2020), over all pairs of a question. What the teacher adds to every row of a question does not matter.
    """
    pairs = (groups[:, None] == groups[None, :]).triu(diagonal=1)
    if not pairs.any():
        return logits.sum() * 0.0
    error = logits - teacher
    return (error[:, None] - error[None, :])[pairs].square().mean()


def teacher_squared_error(logits: Tensor, teacher: Tensor, groups: Tensor) -> Tensor:
    """Each raw output shall be the teacher's (Ba & Caruana, "Do Deep Nets Really Need to be Deep?", 2014)."""
    return functional.mse_loss(logits, teacher)


def scaled_squared_error(top: float) -> Loss:
    """Mean squared error on 0 to `top`, divided by top², so that scales of any width weigh alike."""

    def loss(logits: Tensor, labels: Tensor, groups: Tensor) -> Tensor:
        return functional.mse_loss(torch.sigmoid(logits), labels / top)

    return loss


def cosine_squared_error(top: float) -> Loss:
    """Mean squared error of a bi-encoder's cosine from the label's share of `top` (Reimers & Gurevych 2019)."""

    def loss(cosines: Tensor, labels: Tensor, groups: Tensor) -> Tensor:
        return functional.mse_loss(cosines, labels / top)

    return loss


LOSSES: dict[str, Loss] = {
    "bce": binary_cross_entropy,
    "listwise": listwise_softmax,
    "pairwise": pairwise_logistic,
    "lambda": lambda_rank,
    "mse5": scaled_squared_error(5.0),
    "mse4": scaled_squared_error(4.0),
    "cosine5": cosine_squared_error(5.0),
    "margin-mse": margin_squared_error,
    "teacher-mse": teacher_squared_error,
}
TAUGHT = ("margin-mse", "teacher-mse")
"""The losses whose targets are not the labels but a teacher's raw outputs."""
COSINE = ("cosine5",)
"""The losses of bi-encoders: what they are given are not logits but cosines."""
