"""Choose devices and number formats for models."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress

import torch

from mpir.errors import InputError, format_value, shortened
from mpir.models.options import FORMATS, batch_size, device_names, precision_name

TOKENS_PER_BATCH = {"cpu": 4096, "cuda": 131_072}
"""Padded tokens per batch by type of device: enough to keep it busy, and far below its memory."""


def choose_devices(names: str) -> list[torch.device]:
    """The torch devices of a list such as ``cuda:0,cuda:1`` or ``cpu,cpu``. Raises InputError as `choose_device`."""
    return [choose_device(name.strip()) for name in device_names(names).split(",")]


def choose_device(name: str) -> torch.device:
    """The torch device for a name; "auto" takes a GPU if there is one. Raises InputError for an unavailable device."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, ImportError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"device {format_value(name)} cannot be used ({shortened(reason)}); choose auto, cpu, a GPU that is "
            "there, or a list of those."
        ) from error
    return device


def choose_dtype(precision: str, devices: Sequence[torch.device]) -> torch.dtype:
    """The number format for a name; "auto" takes bfloat16 if all devices support it, else float32.

    Raises:
        InputError: there is no such format.
    """
    precision = precision_name(precision)
    if precision == "auto":
        return torch.bfloat16 if all(map(_computes_bfloat16, devices)) else torch.float32
    dtype: torch.dtype = getattr(torch, FORMATS[precision])
    return dtype


def _computes_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())


def choose_budget(tokens_per_batch: int | None, devices: Sequence[torch.device], max_length: int) -> int:
    """Padded tokens per batch; by default suitable for all devices, and at least one pair of `max_length` tokens.

    Raises:
        InputError: a budget that is too small for one pair.
    """
    if tokens_per_batch is None:
        return max(max_length, min(TOKENS_PER_BATCH.get(device.type, TOKENS_PER_BATCH["cpu"]) for device in devices))
    return batch_size(tokens_per_batch, max_length)


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether torch ran out of memory, on a GPU or a CPU."""
    return isinstance(error, torch.OutOfMemoryError) or "not enough memory" in str(error)


def free_memory() -> None:
    """Release the GPU memory that torch keeps for later use."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def trim_memory() -> None:
    """Return the C library's free pages to the system, where supported (glibc)."""
    with suppress(AttributeError, OSError, TypeError):  # another C library, which does not support it
        ctypes.CDLL(None).malloc_trim(0)
