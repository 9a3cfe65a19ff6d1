"""The state of random generators, so that a pass or a resumed run draws the same numbers again."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class RandomState(NamedTuple):
    """The state of torch's generator and, on a GPU, of the device's generator."""

    cpu: Tensor
    device: Tensor | None

    @classmethod
    def current(cls, device: torch.device) -> RandomState:
        """Return the current state."""
        return cls(torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None)

    def restore(self, device: torch.device) -> None:
        """Restore the generators to this state; on a CPU, the state of a GPU is ignored."""
        torch.set_rng_state(self.cpu)
        if device.type == "cuda" and self.device is not None:
            torch.cuda.set_rng_state(self.device, device)
