"""Check a checkpoint's files for damage that the reading libraries do not report, and a tokenizer's rules for growth.

A few bytes of a tokenizer's rules can make a text long without bound.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError, InputError, format_names, format_value
from mpir.files.read import read_json
from mpir.models.checkpoint_files.foreign_forms import check_quantisation, check_tensor_names

LAYER_COUNTS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers", "decoder_layers")
LIMITS = {
    **dict.fromkeys(LAYER_COUNTS, 10**3),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads"), 10**5),
    **dict.fromkeys(("hidden_size", "intermediate_size", "n_embd", "n_inner", "d_model", "dim"), 10**7),
    "num_labels": 10**6,
    **dict.fromkeys(("vocab_size", "type_vocab_size", "max_position_embeddings", "n_positions"), 10**8),
}
"""Sizes in configurations with their upper limits: a model of a damaged size could take hours or all memory."""
MAY_BE_ZERO = ("type_vocab_size",)
EPSILONS = ("layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps")
NUMBER = re.compile(r"(?:^|\.)(\d+)\.")
FEW_LAYERS = 100
"""Number of layers from which the weights must have as many; some models share one layer's weights among all."""
LAYER = re.compile(r"\.layers?\.\d+\.")
WIDTHS = ("hidden_size", "n_embd", "d_model", "dim")
"""Names for the width of a model's states, which must be a dimension of its tensors."""
AT_MOST = ("intermediate_size", "vocab_size")
"""Names of sizes that must not exceed the largest dimension of the tensors."""
POSITIONS = "position_embeddings"
WEIGHT_FILES = ("*.safetensors", "*.bin")
FLOATING = ("F", "BF")
"""Prefixes of safetensors' names for floating-point formats."""


def check_sizes(config: Mapping[str, Any], checkpoint: str | Path) -> None:
    """Check the sizes in a configuration, including nested ones. Raises ArtefactError for an impossible one."""
    for inner in filter(lambda value: isinstance(value, dict), config.values()):
        check_sizes(inner, checkpoint)
    for name, limit in LIMITS.items():
        size, minimum = config.get(name), int(name not in MAY_BE_ZERO)
        if isinstance(size, str | int | float) and not (isinstance(size, int) and minimum <= size <= limit):
            raise _config_error(checkpoint, name, size, f"a whole number from {minimum} to {limit}")
    for name in EPSILONS:
        value = config.get(name, 1e-12)
        if not (isinstance(value, int | float) and 0 <= value < math.inf):
            raise _config_error(checkpoint, name, value, "a number of at least 0")


def _config_error(checkpoint: str | Path, name: str, value: object, expected: str) -> ArtefactError:
    return ArtefactError(
        f"{checkpoint}/config.json: invalid {name} (got {format_value(value)}, expected {expected}). Restore the "
        "checkpoint."
    )


def check_tensors(checkpoint: str | Path, config: Mapping[str, Any]) -> None:
    """Compare the formats and shapes of a folder's tensors, read from file headers, with its configuration.

    Without this, transformers would fill memory with random weights of the configured shapes before comparing them.

    Raises:
        ArtefactError: the weights are quantised, or not in a floating-point format, or a size does not occur among the
            shapes.
    """
    check_quantisation(checkpoint, config)
    paths = sorted(Path(checkpoint).glob("*.safetensors"))
    shapes = {name: shape for path in paths for name, shape in _read_shapes(path).items()}
    sizes = {size for shape in shapes.values() for size in shape}
    has_positions = any(POSITIONS in name for name in shapes)
    for name in (*WIDTHS, *AT_MOST, *(("max_position_embeddings",) if has_positions else ())):
        size = config.get(name)
        if isinstance(size, int) and sizes and (size not in sizes if name in WIDTHS else size > max(sizes)):
            raise _config_error(checkpoint, name, size, "a size that the tensors of the weights have")
    numbers = [int(number[:9]) for name in shapes for number in NUMBER.findall(name)]
    for name in LAYER_COUNTS:
        size = config.get(name)
        if isinstance(size, int) and shapes and size > max(FEW_LAYERS, 1 + max(numbers, default=0)):
            raise _config_error(checkpoint, name, size, "as many layers as the weights have")
    for inner in filter(lambda value: isinstance(value, dict), config.values()):
        _check_weights_size(checkpoint, inner)
    _check_weights_size(checkpoint, config)


def _check_weights_size(checkpoint: str | Path, config: Mapping[str, Any]) -> None:
    """Check that a folder's files are not far smaller than layers of a configuration. Raises ArtefactError."""
    size = sum(path.stat().st_size for pattern in WEIGHT_FILES for path in Path(checkpoint).glob(pattern))
    layers = max((config.get(name) or 0 for name in LAYER_COUNTS if isinstance(config.get(name), int)), default=0)
    width = max((config.get(name) or 0 for name in WIDTHS if isinstance(config.get(name), int)), default=0)
    if size and layers * width**2 > 8 * size:
        name = next(name for name in LAYER_COUNTS if config.get(name) == layers)
        raise _config_error(checkpoint, name, layers, f"layers that fit into {size:,} bytes of weights")


def _read_shapes(path: Path) -> dict[str, list[int]]:
    """The shape of each tensor of a file. Raises ArtefactError for weights that are not floating-point numbers."""
    from safetensors import safe_open

    shapes = {}
    with safe_open(path, "pt") as tensors:
        check_tensor_names(path, tensors.keys())
        for name in tensors.keys():  # noqa: SIM118  (no dictionary)
            tensor = tensors.get_slice(name)
            if name.endswith((".weight", ".bias")) and not tensor.get_dtype().startswith(FLOATING):
                raise ArtefactError(
                    f"{path}: the tensor {format_value(name)} has the format {tensor.get_dtype()} (expected "
                    "floating-point numbers). Restore the checkpoint, or give the model in fp32, fp16 or bf16."
                )
            shapes[name] = tensor.get_shape()
    return shapes


def check_finite(model: Any, checkpoint: str | Path) -> None:
    """Check that a model's weights are finite. Raises ArtefactError."""
    for name, values in model.named_parameters():
        if not math.isfinite(values.detach().sum()) and not values.isfinite().all():
            raise ArtefactError(
                f"{checkpoint}: the weights {name} contain NaN or infinity. Restore the checkpoint, or train it again."
            )


def check_no_layer_unread(names: Iterable[str], checkpoint: str | Path) -> None:
    """Check that a model uses all layers of its file; `names` are the weights that the model does not use."""
    if layers := sorted(name for name in names if LAYER.search(name)):
        raise ArtefactError(
            f"{checkpoint}: config.json has no place for the layers of {format_names(layers, 3)}. Correct "
            "num_hidden_layers, or restore the checkpoint."
        )


def check_complete(model: Any, missing: Iterable[str], checkpoint: str | Path) -> None:
    """Check that no part of an encoder is random; `missing` are weights absent from its file or of another shape.

    The outputs and the pooler may be missing, because training makes new ones.
    """
    encoder = f"{model.base_model_prefix}." if model.base_model is not model else ""
    if random := sorted(name for name in missing if name.startswith(encoder) and "pooler" not in name):
        raise ArtefactError(
            f"{checkpoint}: the weights {format_names(random, 3)} are missing or have another shape than config.json "
            "says. Restore the checkpoint."
        )


LONGEST_GROWTH = 100.0
"""How many times longer a normaliser may make a text; compatibility forms of Unicode have up to 18 characters."""


def check_tokenizer_file(folder: str | Path) -> None:
    """Check the ``tokenizer.json`` of a folder, before a library loads it. Raises ArtefactError as `check_rules`."""
    path = Path(folder) / "tokenizer.json"
    if path.is_file():
        try:
            rules = read_json(path)
        except InputError:  # the library reports a damaged file
            return
        check_rules(rules, folder)


def check_rules(rules: Mapping[str, Any], checkpoint: str | Path) -> None:
    """Check that rules do not multiply a text.

    Raises:
        ArtefactError: a normaliser that makes a text more than 100 times longer, or a template that repeats it.
    """
    try:
        growth = _growth(rules.get("normalizer"))
        repeats = any(_repeats(template) for template in _templates(rules.get("post_processor")))
    except (AttributeError, KeyError, TypeError, ValueError):  # the library reports a damaged file
        return
    if growth > LONGEST_GROWTH or repeats:
        problem = "repeats a text" if repeats else "makes a text more than 100 times longer"
        raise ArtefactError(
            f"{checkpoint}/tokenizer.json: {problem} (expected rules that do not). Restore the checkpoint."
        )


def _growth(normalizer: Any) -> float:
    """Return the factor by which a normaliser can lengthen a text."""
    if not normalizer:
        return 1.0
    if normalizer["type"] == "Sequence":
        growth = 1.0
        for inner in normalizer["normalizers"]:
            growth = min(growth * _growth(inner), 1e9)
        return growth
    if normalizer["type"] == "Replace":
        pattern, content = normalizer["pattern"], normalizer["content"]
        if "String" in pattern:
            return max(1.0, len(content) / max(1, len(pattern["String"]))) + (not pattern["String"])
        return max(1.0, len(content)) + _matches_nothing(pattern["Regex"])
    if normalizer["type"] == "Precompiled":
        characters = base64.b64decode(normalizer["precompiled_charsmap"] or "")
        texts = characters[4 + int.from_bytes(characters[:4], "little") :].split(b"\0")
        return max(1.0, max(map(len, texts)) / 2)
    return 1.0


def _matches_nothing(pattern: str) -> bool:
    """Whether a regular expression matches between two characters, or might."""
    try:
        return re.search(pattern, "") is not None
    except re.error:
        return True


def _templates(processor: Any) -> Iterator[list[Any]]:
    """Yield the templates of a post-processor: lists of special tokens and texts."""
    if processor:
        yield from (processor[name] for name in ("single", "pair") if isinstance(processor.get(name), list))
        for inner in processor.get("processors") or ():
            yield from _templates(inner)


def _repeats(template: list[Any]) -> bool:
    texts = [piece["Sequence"]["id"] for piece in template if "Sequence" in piece]
    return len(texts) > len(set(texts))
