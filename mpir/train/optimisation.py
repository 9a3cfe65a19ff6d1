"""What makes a step of gradients: AdamW, the learning rate of each step and, in fp16, the scaling of the loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from mpir.train.lr_schedule import make_rate
from mpir.train.run_state import OptimisationState
from mpir.train.settings import TrainingSettings

HEADS = "classifier."
"""How the names begin of what turns an encoder's state into outputs."""


class Optimisation:
    """Steps of a model's parameters, each by the gradients of `settings.gradient_accumulation_steps` batches."""

    def __init__(
        self,
        model: nn.Module,
        settings: TrainingSettings,
        *,
        device: torch.device,
        batches: int,
        falls: Callable[[], int],
    ) -> None:
        """Prepare a run of so many batches; `falls` says how often the rate fell because dev had stalled."""
        self.model, self.batches, self.accumulated = model, batches, settings.gradient_accumulation_steps
        self.optimiser = torch.optim.AdamW(
            parameter_groups(model, settings), lr=settings.learning_rate, eps=settings.adam_epsilon, fused=True
        )
        self.rate = make_rate(self.optimiser, settings, math.ceil(batches / self.accumulated), falls)
        # fp16 gradients may underflow, so the loss is scaled up for them; elsewhere the scaler does nothing.
        self.scaler = torch.amp.GradScaler(device.type, enabled=settings.precision == "fp16")

    def scaled(self, loss: Tensor, batch: int) -> Tensor:
        """What gradients are of: a batch's share of its step, the last of which may have fewer, scaled up for fp16."""
        first = batch - batch % self.accumulated
        scaled: Tensor = self.scaler.scale(loss / min(self.accumulated, self.batches - first))
        return scaled

    def step(self, batch: int) -> None:
        """Take the step that ends with a batch, by its number; nothing after a batch that ends none."""
        if (batch + 1) % self.accumulated and batch + 1 != self.batches:
            return
        if any(parameter.grad is not None for parameter in self.model.parameters()):  # else all pairs were skipped
            self.scaler.unscale_(self.optimiser)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.scaler.step(self.optimiser)
            self.scaler.update()
        self.rate.step()
        self.optimiser.zero_grad()

    def state(self) -> OptimisationState:
        """What a resumed run needs to go on. It holds no half-summed gradients, so take it after a step only."""
        return OptimisationState(
            optimiser=self.optimiser.state_dict(), rate=self.rate.state_dict(), scaler=self.scaler.state_dict()
        )

    def restore(self, state: OptimisationState) -> None:
        """Go on from a state of the same run. Raises ValueError or KeyError for one that fits no such model."""
        self.optimiser.load_state_dict(dict(state.optimiser))
        self.rate.load_state_dict(dict(state.rate))
        if state.scaler:
            self.scaler.load_state_dict(dict(state.scaler))


def parameter_groups(model: nn.Module, settings: TrainingSettings) -> list[dict[str, Any]]:
    """The parameters with their weight decay and, of those that learn faster, their learning rate.

    Those are the outputs, with another `settings.head_rate` than 1, and what a model names as `faster`.
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
