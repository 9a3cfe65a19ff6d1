"""Name the forms of models that mpir does not read: quantised weights, other libraries' files, sparse or static models.

A model of such a form is refused by its name, because loading it would end in an error about something else, or in
numbers that mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError

WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "*/model.safetensors", "*/pytorch_model.bin")
"""Files of weights that are read; some are in a module's folder."""
OTHER_WEIGHTS = {
    "*.gguf": "GGUF",
    "*.ggml": "GGML",
    "*.onnx": "ONNX",
    "onnx/*.onnx": "ONNX",
    "openvino_model.xml": "OpenVINO",
    "openvino/*.xml": "OpenVINO",
    "*.h5": "TensorFlow",
    "*.msgpack": "Flax",
    "*.tflite": "TensorFlow Lite",
    "*.mlpackage": "Core ML",
    "*.mlmodel": "Core ML",
    "*.engine": "TensorRT",
    "*.npz": "NumPy",
    "*.ckpt": "PyTorch Lightning",
}
"""Patterns of files in forms that are not read."""
QUANTISATIONS = {
    "awq": "AWQ",
    "gptq": "GPTQ",
    "bitsandbytes": "bitsandbytes",
    "fp8": "FP8",
    "fbgemm_fp8": "FP8",
    "compressed-tensors": "compressed-tensors",
    "hqq": "HQQ",
    "mxfp4": "MXFP4",
    "exl2": "EXL2",
    "aqlm": "AQLM",
    "mlx": "MLX",
}
"""Names of quantisation methods in config.json, and in messages."""
TENSORS = {
    "AWQ or GPTQ": (".qweight", ".qzeros"),
    "bitsandbytes, 8 bits": (".SCB",),
    "bitsandbytes, 4 bits": (".absmax", ".quant_map"),
    "compressed-tensors": (".weight_packed",),
    "FP8": (".weight_scale", ".weight_scale_inv", ".scale_weight", ".input_scale"),
    "MXFP4": ("_blocks",),
    "HQQ": (".W_q",),
    "scaled weights": (".scales", ".weight_zero_point"),
}
"""Ends of the names of tensors that only quantised weights have."""
STATIC = "a static model (Model2Vec), whose vectors are means of word vectors"
SPARSE = "a sparse encoder (SPLADE), which gives weights of words and no vectors"
_UNQUANTISED = "Give the model in fp32, fp16 or bf16"
_CONVERTED = "Give its weights as safetensors"
_OTHER = "Give another model"


def check_form(
    folder: Path, name: str, config: Mapping[str, Any], module_types: Sequence[str], settings: Mapping[str, Any]
) -> None:
    """Check the declarations in a model's files, and the kinds of its files.

    Args:
        folder: the model's folder.
        name: its name in messages.
        config: config.json.
        module_types: the class names of its modules.
        settings: config_sentence_transformers.json.

    Raises:
        ArtefactError: a form that mpir does not read; the message names it.
    """
    if form := _foreign_family(name, config, module_types, settings):
        raise _refusal(name, f"is {form}", _OTHER)
    check_quantisation(folder, config, name)
    if not any(any(folder.glob(pattern)) for pattern in WEIGHTS):
        for pattern, form in OTHER_WEIGHTS.items():
            if any(folder.glob(pattern)):
                raise _refusal(name, f"has weights as {form} alone", _CONVERTED)


def check_quantisation(folder: str | Path, config: Mapping[str, Any], name: str | None = None) -> None:
    """Raise ArtefactError for a configuration of quantised weights, with the folder as the `name` in its message."""
    if method := _quantisation(config, Path(folder)):
        raise _refusal(str(folder) if name is None else name, f"has quantised weights ({method})", _UNQUANTISED)


def check_tensor_names(path: Path, names: Iterable[str]) -> None:
    """Raise ArtefactError for a file of weights with tensors of a quantisation, by their names."""
    listed = list(names)
    for form, ends in TENSORS.items():
        if any(name.endswith(ends) for name in listed):
            raise _refusal(str(path), f"has quantised weights ({form})", _UNQUANTISED)


def form_of_file(path: Path) -> str | None:
    """The form of a single file that is named in place of a folder, or None if it is unknown."""
    return next((form for pattern, form in OTHER_WEIGHTS.items() if path.match(pattern)), None)


def _refusal(name: str, problem: str, remedy: str) -> ArtefactError:
    return ArtefactError(f"{name}: {problem}, which mpir does not read. {remedy}.")


def _foreign_family(
    name: str, config: Mapping[str, Any], module_types: Sequence[str], settings: Mapping[str, Any]
) -> str | None:
    architecture = str((config.get("architectures") or [""])[0])
    if config.get("model_type") == "model2vec" or architecture == "StaticModel" or "StaticEmbedding" in module_types:
        return STATIC
    is_sparse = settings.get("model_type") == "SparseEncoder" or any("Splade" in kind for kind in module_types)
    is_bare_splade = architecture.endswith("ForMaskedLM") and "splade" in Path(name).name.lower()
    if is_sparse or is_bare_splade or {"SparseStaticEmbedding", "MLMTransformer"} & {*module_types}:
        return SPARSE
    if backbone := config.get("backbone_model_type"):
        return f"a model of Lightning IR ({config.get('model_type')} over {backbone})"
    return None


def _quantisation(config: Mapping[str, Any], folder: Path) -> str | None:
    """The name of a declared quantisation, or None. GPTQ and AWQ had files of their own."""
    declared = config.get("quantization_config") or config.get("compression_config")
    if isinstance(declared, Mapping):
        method = str(declared.get("quant_method") or ("bitsandbytes" if "load_in_8bit" in declared else "unknown"))
        return QUANTISATIONS.get(method.lower(), method)
    if isinstance(config.get("quantization"), Mapping):
        return "MLX"
    files = {"quantize_config.json": "GPTQ", "quant_config.json": "AWQ"}
    return next((method for file, method in files.items() if (folder / file).is_file()), None)
