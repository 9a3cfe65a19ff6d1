"""Losses over more vectors than there is memory to train at once, with the gradients of the whole batch.

Gao et al., "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup" (2021), known as GradCache: one
pass without gradients gives all vectors, the loss gives the gradient of each, and a second pass, part by part and with
the same dropout, takes these on to the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from mpir.train.random_state import RandomState

Pass = Callable[[], Tensor]


def backward_in_parts(
    passes: Sequence[Pass], loss: Callable[[Tensor], Tensor], scaled: Callable[[Tensor], Tensor], device: torch.device
) -> Tensor:
    """Add the gradients of a loss to the parameters that its vectors depend on; the loss itself.

    Args:
        passes: each gives the vectors (n, W) of some texts. It runs twice, with the same random numbers.
        loss: of all their vectors (N, W), in the order of the passes.
        scaled: what the gradients are of, from the loss.
        device: whose random numbers the passes draw.
    """
    states, outputs = [], []
    with torch.no_grad():
        for forward in passes:
            states.append(RandomState.current(device))
            outputs.append(forward())
    vectors = torch.cat(outputs).requires_grad_()
    value = loss(vectors)
    (gradients,) = torch.autograd.grad(scaled(value), vectors)
    shares = torch.split(gradients, [len(output) for output in outputs])
    for forward, state, gradient in zip(passes, states, shares, strict=True):
        state.restore(device)
        forward().backward(gradient)  # type: ignore[no-untyped-call]
    return value.detach()
