"""Schedule the learning rate of each training step."""

from __future__ import annotations

from collections.abc import Callable

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from transformers import get_linear_schedule_with_warmup

from mpir.lab.train.settings import TrainingSettings

FALL = 0.25
"""Factor of the learning rate when dev has stalled (Hofstätter et al., TripClick, 2022)."""


def make_rate(optimiser: Optimizer, settings: TrainingSettings, steps: int, falls: Callable[[], int]) -> LambdaLR:
    """Make the schedule of `steps` steps: after a warm-up, linear decay to 0, or a drop when dev stalls.

    `falls` returns the number of drops so far; it is used only with `settings.quarter_after`.
    """
    warmup = int(settings.warmup * steps)
    if settings.quarter_after is None:
        evenly: LambdaLR = get_linear_schedule_with_warmup(optimiser, warmup, steps)
        return evenly
    return LambdaLR(optimiser, lambda step: (step / warmup if step < warmup else 1.0) * FALL ** falls())
