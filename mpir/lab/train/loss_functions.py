"""Loss functions: each maps scores, targets and a mask, all (questions, candidates), to one number.

Cells with a False mask are not candidates of that question. Targets are labels or, for distillation, the raw
outputs of a teacher. A batch without comparable candidates has loss 0 and gradients of 0.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def binary_cross_entropy(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Binary cross-entropy of labels 0 or 1, candidate by candidate (the paper's loss for relevance)."""
    return functional.binary_cross_entropy_with_logits(scores[mask], labels[mask])


def listwise_softmax(scores: Tensor, labels: Tensor, mask: Tensor, *, temperature: float = 1.0) -> Tensor:
    """Softmax loss of each positive against its question's negatives (ListNet's top-one loss for one positive).

    Cao et al., "Learning to Rank: From Pairwise Approach to Listwise Approach" (2007). Questions without a positive or
    negative are skipped. With all texts of a batch as candidates, this is the multiple-negatives loss (Henderson et
    al., "Efficient Natural Language Response Suggestion for Smart Reply", 2017).
    """
    positives, negatives = mask & (labels > 0), mask & (labels <= 0)
    has_both = positives.any(dim=1) & negatives.any(dim=1)
    if not has_both.any():
        return scores.sum() * 0.0
    scores = scores[has_both] / temperature
    against = torch.logsumexp(scores.masked_fill(~negatives[has_both], float("-inf")), dim=1, keepdim=True)
    return (torch.logaddexp(scores, against) - scores)[positives[has_both]].mean()


def pairwise_logistic(scores: Tensor, labels: Tensor, mask: Tensor, *, temperature: float = 1.0) -> Tensor:
    """Pairwise logistic loss of better and worse candidates of a question (RankNet, Burges et al. 2005)."""
    pairs = _better(labels, mask)
    if not pairs.any():
        return scores.sum() * 0.0
    return functional.softplus(-_differences(scores / temperature)[pairs]).mean()


def triplet_margin(scores: Tensor, labels: Tensor, mask: Tensor, *, margin: float = 1.0) -> Tensor:
    """Triplet loss of better and worse candidates: max(d(q, p) − d(q, n) + margin, 0).

    The distance d is 1 − score, the cosine distance where scores are cosines (Schroff et al., "FaceNet", 2015).
    """
    pairs = _better(labels, mask)
    if not pairs.any():
        return scores.sum() * 0.0
    return functional.relu(margin - _differences(scores)[pairs]).mean()


def lambda_rank(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """The pairwise logistic loss, each pair weighted by the change of nDCG when its candidates are swapped.

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
    """Margin-MSE: squared error from the teacher's score differences between a question's candidates.

    Hofstätter et al., "Improving Efficient Neural Ranking Models with Cross-Architecture Knowledge Distillation"
    (2020), over all pairs of a question. A constant that the teacher adds to all candidates of a question has no
    effect.
    """
    pairs = (mask[:, :, None] & mask[:, None, :]).triu(diagonal=1)
    if not pairs.any():
        return scores.sum() * 0.0
    return _differences(scores / temperature - teacher)[pairs].square().mean()


def divergence(scores: Tensor, teacher: Tensor, mask: Tensor, *, temperature: float = 1.0) -> Tensor:
    """Kullback-Leibler divergence from the teacher's softmax over a question's candidates, averaged over questions."""
    has_several = mask.sum(dim=1) > 1
    if not has_several.any():
        return scores.sum() * 0.0
    student, target = (
        torch.log_softmax(values[has_several].masked_fill(~mask[has_several], -1e9), dim=1)
        for values in (scores / temperature, teacher)
    )
    return (target.exp() * (target - student)).sum(dim=1).mean()


def teacher_squared_error(scores: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """Squared error from the teacher's raw outputs (Ba & Caruana, "Do Deep Nets Really Need to be Deep?", 2014)."""
    return functional.mse_loss(scores[mask], teacher[mask])


def scaled_squared_error(scores: Tensor, labels: Tensor, mask: Tensor, *, top: float) -> Tensor:
    """Mean squared error on 0 to `top`, divided by top² to be independent of the scale."""
    return functional.mse_loss(torch.sigmoid(scores[mask]), labels[mask] / top)


def cosine_squared_error(cosines: Tensor, labels: Tensor, mask: Tensor, *, top: float) -> Tensor:
    """Mean squared error of a bi-encoder's cosine from the label's share of `top` (Reimers & Gurevych 2019)."""
    return functional.mse_loss(cosines[mask], labels[mask] / top)


def _differences(values: Tensor) -> Tensor:
    """Return pairwise differences (Q, C, C) of values (Q, C)."""
    return values[:, :, None] - values[:, None, :]


def _better(labels: Tensor, mask: Tensor) -> Tensor:
    """Return a mask (Q, C, C) of pairs whose first candidate is better."""
    return mask[:, :, None] & mask[:, None, :] & (labels[:, :, None] > labels[:, None, :])


def _discounts(values: Tensor, mask: Tensor) -> Tensor:
    """DCG's discount (Q, C) of each candidate at its rank in its question; with ties in input order."""
    position = torch.arange(values.shape[1], device=values.device)
    row_values, column_values = values[:, :, None], values[:, None, :]
    above = (column_values > row_values) | ((column_values == row_values) & (position[None, :] < position[:, None]))
    return 1.0 / torch.log2(2.0 + (above & mask[:, None, :]).sum(dim=2))
