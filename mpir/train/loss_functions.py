"""The arithmetic of losses: each maps scores, targets and a mask, all (questions, candidates), to one number.

A place where the mask is False holds no candidate of that question. Targets are labels or, for distillation, the raw
outputs of a teacher. A batch in which nothing can be compared has loss 0, with gradients of 0.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def binary_cross_entropy(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Labels 0 or 1, each candidate on its own (the paper's loss for relevance)."""
    return functional.binary_cross_entropy_with_logits(scores[mask], labels[mask])


def listwise_softmax(scores: Tensor, labels: Tensor, mask: Tensor, *, temperature: float = 1.0) -> Tensor:
    """Each positive against its question's negatives (ListNet's top-one loss with one positive at a time).

    Cao et al., "Learning to Rank: From Pairwise Approach to Listwise Approach" (2007). A question without a positive
    or without a negative adds nothing. Where the candidates are all texts of a batch, this is the loss of multiple
    negatives (Henderson et al., "Efficient Natural Language Response Suggestion for Smart Reply", 2017).
    """
    positives, negatives = mask & (labels > 0), mask & (labels <= 0)
    has_both = positives.any(dim=1) & negatives.any(dim=1)
    if not has_both.any():
        return scores.sum() * 0.0
    scores = scores[has_both] / temperature
    against = torch.logsumexp(scores.masked_fill(~negatives[has_both], float("-inf")), dim=1, keepdim=True)
    return (torch.logaddexp(scores, against) - scores)[positives[has_both]].mean()


def pairwise_logistic(scores: Tensor, labels: Tensor, mask: Tensor, *, temperature: float = 1.0) -> Tensor:
    """Every better candidate of a question above every worse one (RankNet, Burges et al. 2005)."""
    pairs = _better(labels, mask)
    if not pairs.any():
        return scores.sum() * 0.0
    return functional.softplus(-_differences(scores / temperature)[pairs]).mean()


def triplet_margin(scores: Tensor, labels: Tensor, mask: Tensor, *, margin: float = 1.0) -> Tensor:
    """Every better candidate nearer than every worse one by a margin: max(d(q, p) − d(q, n) + margin, 0).

    The distance d is 1 − score, the cosine distance where scores are cosines (Schroff et al., "FaceNet", 2015).
    """
    pairs = _better(labels, mask)
    if not pairs.any():
        return scores.sum() * 0.0
    return functional.relu(margin - _differences(scores)[pairs]).mean()


def lambda_rank(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """The pairwise logistic loss, each pair weighted by how much nDCG changes when its two candidates change places.

    Burges, "From RankNet to LambdaRank to LambdaMART" (2010); a loss in the sense of Wang et al., "The LambdaLoss
    Framework for Ranking Metric Optimization" (2018). Ranks and ideal DCG are those of the candidates in the batch.
    """
    pairs = _better(labels, mask)
    if not pairs.any():
        return scores.sum() * 0.0
    gains, discounts = (2.0**labels - 1.0) * mask, _discounts(scores.detach(), mask)
    ideal = (gains * _discounts(labels, mask)).sum(dim=1)
    change = (_differences(gains) * _differences(discounts)).abs() / ideal[:, None, None]
    errors: Tensor = functional.softplus(-_differences(scores)[pairs])
    return (change[pairs] * errors).sum() / pairs.flatten(1).any(dim=1).sum()


def margin_squared_error(scores: Tensor, teacher: Tensor, mask: Tensor, *, temperature: float = 1.0) -> Tensor:
    """The difference of each two candidates of a question shall be the teacher's (Margin-MSE).

    Hofstätter et al., "Improving Efficient Neural Ranking Models with Cross-Architecture Knowledge Distillation"
    (2020), over all pairs of a question. What the teacher adds to every candidate of a question does not matter.
    """
    pairs = (mask[:, :, None] & mask[:, None, :]).triu(diagonal=1)
    if not pairs.any():
        return scores.sum() * 0.0
    return _differences(scores / temperature - teacher)[pairs].square().mean()


def divergence(scores: Tensor, teacher: Tensor, mask: Tensor, *, temperature: float = 1.0) -> Tensor:
    """Kullback and Leibler's divergence of the teacher's softmax over a question's candidates, mean of questions."""
    has_several = mask.sum(dim=1) > 1
    if not has_several.any():
        return scores.sum() * 0.0
    student, target = (
        torch.log_softmax(values[has_several].masked_fill(~mask[has_several], -1e9), dim=1)
        for values in (scores / temperature, teacher)
    )
    return (target.exp() * (target - student)).sum(dim=1).mean()


def teacher_squared_error(scores: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """Each raw output shall be the teacher's (Ba & Caruana, "Do Deep Nets Really Need to be Deep?", 2014)."""
    return functional.mse_loss(scores[mask], teacher[mask])


def scaled_squared_error(scores: Tensor, labels: Tensor, mask: Tensor, *, top: float) -> Tensor:
    """Mean squared error on 0 to `top`, divided by top², so that scales of any width weigh alike."""
    return functional.mse_loss(torch.sigmoid(scores[mask]), labels[mask] / top)


def cosine_squared_error(cosines: Tensor, labels: Tensor, mask: Tensor, *, top: float) -> Tensor:
    """Mean squared error of a bi-encoder's cosine from the label's share of `top` (Reimers & Gurevych 2019)."""
    return functional.mse_loss(cosines[mask], labels[mask] / top)


def _differences(values: Tensor) -> Tensor:
    """What each candidate has more than each other: (Q, C, C) from (Q, C)."""
    return values[:, :, None] - values[:, None, :]


def _better(labels: Tensor, mask: Tensor) -> Tensor:
    """Which candidate (Q, C, C) is better than which other."""
    return mask[:, :, None] & mask[:, None, :] & (labels[:, :, None] > labels[:, None, :])


def _discounts(values: Tensor, mask: Tensor) -> Tensor:
    """DCG's discount (Q, C) of each candidate at its rank in its question; of equal ones the first is first."""
    position = torch.arange(values.shape[1], device=values.device)
    row_values, column_values = values[:, :, None], values[:, None, :]
    above = (column_values > row_values) | ((column_values == row_values) & (position[None, :] < position[:, None]))
    return 1.0 / torch.log2(2.0 + (above & mask[:, None, :]).sum(dim=2))
