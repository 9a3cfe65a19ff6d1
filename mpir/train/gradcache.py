"""Losses over more vectors than there is memory to train at once, with the gradients of the whole batch.

Gao et al., "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup" (2021), known as GradCache: one
pass without gradients gives all vectors, the loss gives the gradient of each, and a second pass, part by part and with
the same dropout, takes these on to the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

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
            states.append(_random_state(device))
            outputs.append(forward())
    vectors = torch.cat(outputs).requires_grad_()
    value = loss(vectors)
    (gradients,) = torch.autograd.grad(scaled(value), vectors)
    shares = torch.split(gradients, [len(output) for output in outputs])
    for forward, state, gradient in zip(passes, states, shares, strict=True):
        _restore(state, device)
        forward().backward(gradient)  # type: ignore[no-untyped-call]
    return value.detach()


def _random_state(device: torch.device) -> tuple[Tensor, Tensor | None]:
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


def _restore(state: tuple[Tensor, Tensor | None], device: torch.device) -> None:
    cpu_state, device_state = state
    torch.set_rng_state(cpu_state)
    if device_state is not None:
        torch.cuda.set_rng_state(device_state, device)
