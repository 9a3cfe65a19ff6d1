"""Compute losses over batches larger than memory, with the exact gradients of the whole batch.

Gao et al., "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup" (2021), known as GradCache: one
pass without gradients computes all vectors, the loss gives the gradient of each vector, and a second pass in chunks,
with the same dropout, propagates these to the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from mpir.lab.train.run_state import RandomState

Pass = Callable[[], Tensor]


def backward_in_parts(
    passes: Sequence[Pass], loss: Callable[[Tensor], Tensor], scaled: Callable[[Tensor], Tensor], device: torch.device
) -> Tensor:
    """Add a loss's gradients to the parameters that its vectors depend on, and return the loss.

    Args:
        passes: functions that each compute the vectors (n, W) of some texts; they run twice with the same random
        numbers. loss: the loss of all vectors (N, W), in the order of the passes. scaled: maps the loss to the value
        whose gradients are taken. device: the device whose random numbers the passes use.
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
