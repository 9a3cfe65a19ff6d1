"""Settings of a training run, each with its default, its meaning and its lowest value."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.errors import InputError, format_value
from mpir.files.read import read_json
from mpir.models.options import FORMATS
from mpir.validation import check_choice, real_number, whole_number

if TYPE_CHECKING:  # settings are read before torch is imported
    import torch

PRECISIONS = ("auto", "bf16", "fp32", "fp16")


def _setting(default: Any, meaning: str, minimum: float = 0) -> Any:
    return field(default=default, metadata={"help": meaning, "least": minimum})


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """Settings of a training run.

    Raises:
        InputError: a value of the wrong type or below its minimum, or an unknown precision.
    """

    checkpoint: str = field(metadata={"help": "encoder to start from: a folder or a hub name"})
    batch_size: int = _setting(48, "pairs in a batch", 1)
    mini_batch_size: int | None = _setting(
        None, "texts of a bi-encoder in memory; a larger batch is encoded twice, with the same gradient", 1
    )
    learning_rate: float = _setting(6e-5, "highest learning rate")
    head_rate: float = _setting(1.0, "the outputs' learning rate, in multiples of learning_rate")
    weight_decay: float = _setting(0.01, "AdamW's weight decay, for matrices only")
    adam_epsilon: float = _setting(1e-8, "AdamW's epsilon")
    warmup: float = _setting(0.06, "share of the steps in which the learning rate rises; then it falls to 0")
    quarter_after: int | None = _setting(
        None, "evaluations without improvement before the learning rate is quartered (else: linear decay to 0)", 1
    )
    max_length: int = _setting(192, "most tokens of a pair; longer ones are cut", 8)
    gradient_accumulation_steps: int = _setting(1, "batches whose gradients are added up for one step", 1)
    seed: int = _setting(1, "seed of the order, the sampling and the heads")
    precision: str = field(
        default="auto", metadata={"help": "auto (bf16 where the hardware computes it), bf16, fp32 or, on a GPU, fp16"}
    )
    evaluate_every: int = _setting(400, "batches between two evaluations on dev", 1)
    save_every: int = _setting(200, "batches between two saved states, from which an interrupted run resumes", 1)
    patience: int = _setting(1000, "evaluations without improvement before training stops early", 1)
    max_steps: int | None = _setting(
        None, "number of batches; the mixture is cut off or repeated (default: the mixture once)", 1
    )

    def __post_init__(self) -> None:
        if not isinstance(self.checkpoint, str) or not self.checkpoint.strip():
            raise InputError(f"setting checkpoint is {format_value(self.checkpoint)}; expected a folder or a hub name.")
        for item in fields(self):
            value, minimum = getattr(self, item.name), item.metadata.get("least")
            if minimum is None or (value is None and item.default is None):
                continue
            if item.type == "float":
                real_number(
                    f"setting {item.name}", value, f"a number of at least {minimum}", partial(operator.le, minimum)
                )
            else:
                whole_number(f"setting {item.name}", value, minimum=minimum)
        check_choice("setting precision", self.precision, PRECISIONS)

    def on(self, device: torch.device) -> TrainingSettings:
        """Return the settings with the precision that "auto" means on a device."""
        from mpir.models.devices.device import choose_dtype

        dtype = str(choose_dtype(self.precision, [device])).removeprefix("torch.")
        return replace(self, precision=next(name for name, format_name in FORMATS.items() if format_name == dtype))

    @classmethod
    def read(cls, path: str | Path, overrides: Mapping[str, Any]) -> TrainingSettings:
        """Read the ``settings`` of a mixture file; overrides that are not None take precedence.

        Raises:
            InputError: an unknown setting, a value out of bounds, or no checkpoint in the file or the overrides.
        """
        declared = read_json(path).get("settings", {})
        known = {item.name for item in fields(cls)}
        if not isinstance(declared, dict) or set(declared) - known:
            fault = sorted(set(declared) - known)[0] if isinstance(declared, dict) else declared
            raise InputError(
                f"{path}: settings: {format_value(fault)} is not a setting; choose from {', '.join(sorted(known))}."
            )
        values = declared | {name: value for name, value in overrides.items() if value is not None}
        if "checkpoint" not in values:
            raise InputError(f"{path}: declares no checkpoint to start from; name one.")
        return cls(**values)
