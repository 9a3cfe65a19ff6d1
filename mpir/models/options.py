"""Check the form of a model's options without importing torch, which takes seconds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, get_args

from mpir.errors import InputError, format_value
from mpir.validation import check_choice

FORMATS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
"""Precisions and torch's names for them; "auto" chooses."""
DEVICE_TYPES = ("auto", "cpu", "cuda", "mps", "xpu", "hpu", "npu", "mtia")
GPU_NODES = ("nvidia*", "nvhost*", "nvmap", "kfd", "dxg")
"""Files in /dev; if Linux has a GPU that torch can use, one of them exists."""
OverLength = Literal["passages", "truncate"]
_DEVICE = re.compile(rf"(?:{'|'.join(DEVICE_TYPES)})(?::\d{{1,3}})?")


def device_names(device: Any) -> str:
    """Devices as text, such as ``cuda:0,cuda:1``; None means "auto", and a torch.device is replaced by its name.

    Raises:
        InputError: no such kind of device.
    """
    names = "auto" if device is None else str(device)
    for name in names.split(","):
        if not _DEVICE.fullmatch(name.strip()):
            raise InputError(
                f"device {format_value(name)} cannot be used (there is no such kind); choose auto, cpu, a GPU that "
                "is there such as cuda:0, or a list of those with commas between them."
            )
    return names


def precision_name(precision: Any) -> str:
    """The precision; None means "auto". Raises InputError for an unknown one."""
    if precision is None:
        return "auto"
    check_choice("precision", precision, ("auto", *FORMATS))
    return str(precision)


def is_on_cpu(device: str) -> bool:
    """Whether this device is certainly the CPU, decided without torch."""
    devices = Path("/dev")
    known = device == "auto" and devices.is_dir()
    return device == "cpu" or (known and not any(any(devices.glob(name)) for name in GPU_NODES))


def cpu_precision(precision: str) -> str:
    """The precision that "auto" means on this CPU, if Linux lists its features; otherwise unchanged."""
    processor = Path("/proc/cpuinfo")
    if precision != "auto" or not processor.is_file():
        return precision
    flags = processor.read_text(encoding="utf-8", errors="replace").partition("flags")[2].partition("\n")[0].split()
    return "bf16" if "avx512_bf16" in flags else "fp32"


def is_truncating(over_length: Any) -> bool:
    """Whether longer texts are truncated. Raises InputError for an unknown value."""
    check_choice("over_length", over_length, get_args(OverLength))
    return bool(over_length == "truncate")


def batch_size(tokens_per_batch: int, max_length: int) -> int:
    """The batch size in tokens, unchanged. Raises InputError if a pair of `max_length` tokens does not fit."""
    if tokens_per_batch < max_length:
        raise InputError(
            f"tokens_per_batch is {tokens_per_batch}, too small for one pair, which may have {max_length} tokens; give "
            f"at least {max_length}, or a smaller one for the model."
        )
    return tokens_per_batch
