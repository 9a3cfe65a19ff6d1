"""Layers between a pooled vector and a model's output, which sentence-transformers stores in separate folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.errors import ArtefactError, format_names, format_value
from mpir.files.checksum import sha256
from mpir.models.checkpoint_files.model_files import Module

if TYPE_CHECKING:  # a head is needed before torch is imported
    from torch import Tensor, nn

LAYERS = ("Dense", "LayerNorm", "Normalize", "Dropout")
"""Modules that map a vector to another. Dropout has no effect outside training."""
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
ACTIVATIONS = ("GELU", "Identity", "LeakyReLU", "Mish", "ReLU", "SiLU", "Sigmoid", "Softplus", "Tanh")
"""Classes of torch.nn without arguments. A configuration can never name other code to run."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer: its type, its folder inside the model, its settings as sorted pairs, and the hash of its weights."""

    type: str
    path: str
    settings: tuple[tuple[str, Any], ...] = ()
    weights: str | None = None


@dataclass(frozen=True, slots=True)
class VectorHead:
    """Layers applied in sequence to vectors (N, W). It is a plain value that can be sent to worker processes."""

    folder: str
    layers: tuple[Layer, ...]

    @property
    def identity(self) -> list[Any]:
        """Everything that the mapped vectors depend on: the layers and the hashes of their weights."""
        return [[layer.type, dict(layer.settings), layer.weights] for layer in self.layers]

    @property
    def width(self) -> int | None:
        """The width of the output vectors, or None if it equals the input's."""
        widths = [dict(layer.settings).get("out_features") for layer in self.layers if layer.type == "Dense"]
        return int(widths[-1]) if widths and widths[-1] else None

    def __call__(self, vectors: Tensor) -> Tensor:
        """Vectors (N, V) from vectors (N, W) in single precision. Raises ArtefactError for weights that are missing."""
        mapped: Tensor = _load(self).to(vectors.device)(vectors)
        return mapped


def read_head(folder: Path, modules: tuple[Module, ...]) -> VectorHead | None:
    """Return the head from the modules after the pooling, or None if there are none.

    Raises:
        ArtefactError: an unsupported module, or invalid settings.
    """
    layers = []
    for module in modules:
        if module.type not in LAYERS:
            raise ArtefactError(
                f"{folder}: has the module {format_value(module.type)} behind its pooling (expected "
                f"{format_names(LAYERS)}); give another model."
            )
        layers.append(Layer(module.type, module.path, _settings(folder, module), hash_weights(folder / module.path)))
    return VectorHead(str(folder), tuple(layers)) if layers else None


def hash_weights(folder: Path) -> str | None:
    """Return the hash of a folder's weights, or None if it has none."""
    return next((sha256(folder / name) for name in WEIGHTS if (folder / name).is_file()), None)


def _settings(folder: Path, module: Module) -> tuple[tuple[str, Any], ...]:
    """The settings of a layer. Raises ArtefactError for invalid sizes or activations."""
    settings: dict[str, Any] = {}
    path = folder / module.path / "config.json"
    sizes = {"Dense": ("in_features", "out_features"), "LayerNorm": ("dimension",)}.get(module.type, ())
    for name in sizes:
        size = module.config.get(name)
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= 10**6:
            raise ArtefactError(
                f"{path}: invalid {name} (got {format_value(size)}, expected a whole number from 1). Restore the "
                "checkpoint."
            )
        settings[name] = size
    if module.type == "Dense":
        settings |= {"bias": module.config.get("bias", True) is True, "activation": _activation(path, module.config)}
        source = module.config.get("module_input_name", "sentence_embedding")
        if source != "sentence_embedding" or module.config.get("use_residual"):
            raise ArtefactError(
                f"{path}: reads something other than the pooled vector, or adds it again. Give another model."
            )
    return tuple(sorted(settings.items()))


def _activation(path: Path, config: Mapping[str, Any]) -> str:
    """The torch.nn class that a Dense module names. Raises ArtefactError for any other name."""
    name = config.get("activation_function", "torch.nn.modules.activation.Tanh")
    if name is None:
        return "Identity"
    class_name = str(name).rpartition(".")[2]
    if not str(name).startswith("torch.nn.") or class_name not in ACTIVATIONS:
        raise ArtefactError(
            f"{path}: invalid activation_function (got {format_value(name)}, expected one of torch.nn's "
            f"{format_names(ACTIVATIONS)}). Give another model."
        )
    return class_name


@lru_cache(maxsize=8)
def _load(head: VectorHead) -> nn.Module:
    """The layers with their weights, in single precision. Raises ArtefactError if the files do not fit."""
    from torch import inference_mode, nn

    with inference_mode(mode=False):
        layers = nn.Sequential(*(_layer(Path(head.folder), layer) for layer in head.layers)).eval()
    for layer in head.layers:
        folder = Path(head.folder) / layer.path
        if hash_weights(folder) != layer.weights:
            raise ArtefactError(f"{folder}: its weights changed after the model was opened. Open the model again.")
    return layers


def _layer(folder: Path, layer: Layer) -> nn.Module:
    from torch import nn
    from torch.nn import functional

    settings = dict(layer.settings)
    if layer.type == "Dense":
        linear = nn.Linear(settings["in_features"], settings["out_features"], bias=settings["bias"])
        _fill(linear, folder / layer.path, "linear.", among_others=not layer.path)
        return nn.Sequential(linear, getattr(nn, settings["activation"])())
    if layer.type == "LayerNorm":
        norm = nn.LayerNorm(settings["dimension"])
        _fill(norm, folder / layer.path, "norm.")
        return norm

    class Normalize(nn.Module):
        def forward(self, vectors: Tensor) -> Tensor:
            return functional.normalize(vectors, dim=-1)

    return Normalize() if layer.type == "Normalize" else nn.Identity()


def read_tensor(folder: Path, name: str) -> Tensor:
    """Return one tensor of a folder's weights. Raises ArtefactError if it is missing."""
    path = _weights_path(folder)
    try:
        return _read_weights(path)[name]
    except Exception as error:  # whatever a damaged file runs into
        raise ArtefactError(f"{path}: has no tensor {format_value(name)}. Restore the checkpoint.") from error


def _weights_path(folder: Path) -> Path:
    path = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
    if path is None:
        raise ArtefactError(f"{folder}: its weights are missing (expected {WEIGHTS[0]}). Restore the checkpoint.")
    return path


def _read_weights(path: Path) -> dict[str, Tensor]:
    """All tensors of a file, read with safetensors or torch's safe reader."""
    import torch
    from safetensors.torch import load_file

    weights: dict[str, Tensor] = (
        torch.load(path, map_location="cpu", weights_only=True) if path.suffix == ".bin" else load_file(path)
    )
    return weights


def _fill(layer: nn.Module, folder: Path, prefix: str, *, among_others: bool = False) -> None:
    """Load a layer's weights, possibly from among other weights of a checkpoint. Raises ArtefactError."""
    path = _weights_path(folder)
    try:
        weights = _read_weights(path)
        names = [name for name in weights if not among_others or name.startswith(prefix)]
        layer.load_state_dict({name.removeprefix(prefix): weights[name].float() for name in names})
    except Exception as error:  # whatever a damaged file runs into
        reason = " ".join(str(error).split())[:160]
        raise ArtefactError(f"{path}: does not fit its configuration ({reason}). Restore the checkpoint.") from error
