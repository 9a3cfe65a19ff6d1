"""Where the random numbers of a run stand, so that a pass or a whole run can draw the same ones again."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class RandomState(NamedTuple):
    """The state of torch's generator and, of a run on a GPU, that of the device's."""

    cpu: Tensor
    device: Tensor | None

    @classmethod
    def current(cls, device: torch.device) -> RandomState:
        """The state as it is now."""
        return cls(torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None)

    def restore(self, device: torch.device) -> None:
        """Draw from here on what was drawn after this state; a GPU's state is passed over on a CPU."""
        torch.set_rng_state(self.cpu)
        if device.type == "cuda" and self.device is not None:
            torch.cuda.set_rng_state(self.device, device)
