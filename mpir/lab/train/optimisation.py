"""Optimisation steps: AdamW, the learning rate of each step and, in fp16, the scaling of the loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from transformers import get_linear_schedule_with_warmup

from mpir.lab.train.settings import TrainingSettings

HEADS = "classifier."
"""The prefix of the names of output-head parameters."""


class Optimisation:
    """Updates a model's parameters once for every `settings.gradient_accumulation_steps` batches."""

    def __init__(
        self,
        model: nn.Module,
        settings: TrainingSettings,
        *,
        device: torch.device,
        batches: int,
        falls: Callable[[], int],
    ) -> None:
        """Prepare a run of `batches`; `falls` returns how often the learning rate fell because dev had stalled."""
        self.model, self.batches, self.accumulated = model, batches, settings.gradient_accumulation_steps
        self.optimiser = torch.optim.AdamW(
            parameter_groups(model, settings), lr=settings.learning_rate, eps=settings.adam_epsilon, fused=True
        )
        self.rate = make_rate(self.optimiser, settings, math.ceil(batches / self.accumulated), falls)
        # fp16 gradients may underflow, so the loss is scaled up; in other precisions the scaler does nothing.
        self.scaler = torch.amp.GradScaler(device.type, enabled=settings.precision == "fp16")

    def scaled(self, loss: Tensor, batch: int) -> Tensor:
        """Return the loss for gradients: divided by the number of batches in its step, and scaled up for fp16."""
        first = batch - batch % self.accumulated
        scaled: Tensor = self.scaler.scale(loss / min(self.accumulated, self.batches - first))
        return scaled

    def step(self, batch: int) -> None:
        """Update the parameters if the batch with this number is the last one of its step."""
        if (batch + 1) % self.accumulated and batch + 1 != self.batches:
            return
        if any(parameter.grad is not None for parameter in self.model.parameters()):  # none if all pairs were skipped
            self.scaler.unscale_(self.optimiser)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.scaler.step(self.optimiser)
            self.scaler.update()
        self.rate.step()
        self.optimiser.zero_grad()

    def state(self) -> dict[str, Any]:
        """Return the state for resuming. It does not include accumulated gradients, so call this only after a step."""
        return {
            "optimiser": self.optimiser.state_dict(),
            "rate": self.rate.state_dict(),
            "scaler": self.scaler.state_dict(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state of the same run. Raises ValueError or KeyError for one that does not fit the model."""
        self.optimiser.load_state_dict(state["optimiser"])
        self.rate.load_state_dict(state["rate"])
        if state["scaler"]:
            self.scaler.load_state_dict(state["scaler"])


def parameter_groups(model: nn.Module, settings: TrainingSettings) -> list[dict[str, Any]]:
    """Return groups of parameters with their weight decay and, if it differs, their learning rate.

    The rate differs for output heads, unless `settings.head_rate` is 1, and for parameters in the model's `faster`.
    """
    quick: dict[str, float] = dict(getattr(model, "faster", {}))
    if settings.head_rate != 1:
        quick[HEADS] = settings.head_rate
    usual = [p for name, p in model.named_parameters() if not name.startswith(tuple(quick))]
    return [
        {"params": [p for p in usual if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in usual if p.ndim <= 1], "weight_decay": 0.0},
        *(
            {
                "params": [p for name, p in model.named_parameters() if name.startswith(begin)],
                "weight_decay": 0.0,
                "lr": factor * settings.learning_rate,
            }
            for begin, factor in quick.items()
        ),
    ]


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
