"""How fast a run learns, step by step."""

from __future__ import annotations

from collections.abc import Callable

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from transformers import get_linear_schedule_with_warmup

from mpir.train.settings import TrainingSettings

FALL = 0.25
"""What is left of the learning rate once dev has stalled (Hofstätter et al., TripClick, 2022)."""


def make_rate(optimiser: Optimizer, settings: TrainingSettings, steps: int, falls: Callable[[], int]) -> LambdaLR:
    """The learning rate of each of `steps` steps: after a warm-up it falls evenly to 0, or where dev stalls.

    `falls` says how often that has happened so far, which counts with `settings.quarter_after` only.
    """
    warmup = int(settings.warmup * steps)
    if settings.quarter_after is None:
        evenly: LambdaLR = get_linear_schedule_with_warmup(optimiser, warmup, steps)
        return evenly
    return LambdaLR(optimiser, lambda step: (step / warmup if step < warmup else 1.0) * FALL ** falls())
