"""A model of a form that mpir does not read is refused by the form's name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from mpir import NamedModels
from mpir.errors import ArtefactError
from mpir.models.checkpoint_files.hub import find_model
from mpir.models.checkpoint_files.model_files import read_model_files
from mpir.models.embedding_model import open_embedding_model
from mpir.models.encoder import Encoder
from mpir.models.perspectives.named_models import declare_named_models
from tests.models.model_makers import LIBRARY, declare_modules, make, put, read_object

QUERY = "bert.encoder.layer.0.attention.self.query"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path / "m", "BertForSequenceClassification")
    return tmp_path / "m"


def configure(folder: Path, **changes: Any) -> None:
    put(folder / "config.json", {**read_object(folder / "config.json"), **changes})


@pytest.mark.parametrize(
    ("settings", "form"),
    [
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, "AWQ"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, "GPTQ"),
        ({"quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True}}, "bitsandbytes"),
        ({"quantization_config": {"load_in_8bit": True}}, "bitsandbytes"),
        ({"quantization_config": {"quant_method": "fp8"}}, "FP8"),
        ({"quantization_config": {"quant_method": "compressed-tensors"}}, "compressed-tensors"),
        ({"quantization_config": {"quant_method": "another"}}, "another"),
        ({"quantization": {"group_size": 64, "bits": 4}}, "MLX"),
    ],
)
def test_a_declared_quantisation_is_named(settings: dict[str, Any], form: str, folder: Path) -> None:
    configure(folder, **settings)
    message = rf"quantised weights \({form}\), .*fp32"
    with pytest.raises(ArtefactError, match=message):
        declare_named_models(NamedModels(names=[str(folder)]))
    with pytest.raises(ArtefactError, match=message):
        Encoder(folder, device="cpu").outputs([("a", "b")])


@pytest.mark.parametrize(("file", "form"), [("quantize_config.json", "GPTQ"), ("quant_config.json", "AWQ")])
def test_a_quantisation_in_a_file_of_its_own_is_named(file: str, form: str, folder: Path) -> None:
    put(folder / file, {"bits": 4})
    with pytest.raises(ArtefactError, match=rf"quantised weights \({form}\)"):
        declare_named_models(NamedModels(names=[str(folder)]))


def in_fp8(weights: dict[str, torch.Tensor]) -> None:
    weights[f"{QUERY}.weight_scale"] = (scale := weights[f"{QUERY}.weight"].abs().max() / 448).reshape(1)
    weights[f"{QUERY}.weight"] = (weights[f"{QUERY}.weight"] / scale).to(torch.float8_e4m3fn)


def in_int8(weights: dict[str, torch.Tensor]) -> None:
    weights[f"{QUERY}.weight"] = weights[f"{QUERY}.weight"].to(torch.int8)
    weights[f"{QUERY}.SCB"] = torch.ones(32)


def in_awq(weights: dict[str, torch.Tensor]) -> None:
    del weights[f"{QUERY}.weight"]
    weights |= {f"{QUERY}.{name}": torch.ones(4, 4, dtype=torch.int32) for name in ("qweight", "qzeros")}


def packed(weights: dict[str, torch.Tensor]) -> None:
    weights[f"{QUERY}.weight_packed"] = weights.pop(f"{QUERY}.weight").to(torch.int32)


@pytest.mark.parametrize(
    ("quantise", "form"),
    [(in_fp8, "FP8"), (in_int8, "bitsandbytes, 8 bits"), (in_awq, "AWQ or GPTQ"), (packed, "compressed-tensors")],
)
def test_quantised_tensors_are_named(quantise: Callable[[dict[str, Any]], None], form: str, folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    quantise(weights)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ArtefactError, match=rf"quantised weights \({form}\),"):
        Encoder(folder, device="cpu").outputs([("a", "b")])


def test_weights_that_are_only_stored_in_eight_bits_are_read(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights[f"{QUERY}.weight"] = weights[f"{QUERY}.weight"].to(torch.float8_e4m3fn)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    loaded = Encoder(folder, device="cpu", precision="fp32").backend.model.bert.encoder.layer[0]
    expected = weights[f"{QUERY}.weight"].float()
    torch.testing.assert_close(loaded.attention.self.query.weight, expected, check_device=False)


@pytest.mark.parametrize(
    ("file", "form"),
    [
        ("model-q4_0.gguf", "GGUF"),
        ("onnx/model.onnx", "ONNX"),
        ("openvino/openvino_model.xml", "OpenVINO"),
        ("tf_model.h5", "TensorFlow"),
        ("flax_model.msgpack", "Flax"),
    ],
)
@pytest.mark.parametrize("with_config", [True, False])
def test_weights_in_another_form_alone_are_named(file: str, form: str, with_config: bool, folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_bytes(b"weights")
    if not with_config:
        (folder / "config.json").unlink()
    with pytest.raises(ArtefactError, match=f"weights as {form} alone"):
        read_model_files(folder)


def test_a_file_in_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    with pytest.raises(ArtefactError, match=r"form GGUF"):
        find_model(str(tmp_path / "model.gguf"))
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(ArtefactError, match="is a file;"):
        find_model(str(tmp_path / "model.safetensors"))


def static(folder: Path) -> str:
    configure(folder, model_type="model2vec", architectures=["StaticModel"])
    return "is a static model .Model2Vec."


def static_module(folder: Path) -> str:
    declare_modules(folder, (f"{LIBRARY}StaticEmbedding", ""))
    return "is a static model .Model2Vec."


def splade(folder: Path) -> str:
    kinds = [f"sentence_transformers.sparse_encoder.models.{kind}" for kind in ("MLMTransformer", "SpladePooling")]
    declare_modules(folder, (kinds[0], ""), (kinds[1], "1_SpladePooling"))
    return "is a sparse encoder .SPLADE."


def sparse_settings(folder: Path) -> str:
    put(folder / "config_sentence_transformers.json", {"model_type": "SparseEncoder"})
    return "is a sparse encoder .SPLADE."


def lightning(folder: Path) -> str:
    configure(folder, model_type="mono", backbone_model_type="bert", architectures=["MonoBertModel"])
    return "is a model of Lightning IR .mono over bert."


@pytest.mark.parametrize("convert", [static, static_module, splade, sparse_settings, lightning])
def test_a_family_of_another_library_is_named(convert: Callable[[Path], str], folder: Path) -> None:
    message = convert(folder)
    with pytest.raises(ArtefactError, match=message):
        declare_named_models(NamedModels(names=[str(folder)]))
    with pytest.raises(ArtefactError, match=message):
        open_embedding_model(str(folder), device="cpu")


def test_a_splade_without_modules_is_known_by_its_name_and_head(tmp_path: Path) -> None:
    make(tmp_path / "splade-v3", "BertForSequenceClassification")
    read_model_files(tmp_path / "splade-v3")
    configure(tmp_path / "splade-v3", architectures=["BertForMaskedLM"])
    with pytest.raises(ArtefactError, match=r"encoder .SPLADE"):
        read_model_files(tmp_path / "splade-v3")
