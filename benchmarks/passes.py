"""Forward passes of one BERT classifier by several backends: what `backends.py` compares.

A maker takes an mpir `Encoder` (its tokenizer, and its model in the precision asked for) and gives back a function
from a batch of token sequences to its raw outputs (N, K). Makers change what they like: each has its own process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from peers import Pair, load_quietly
from torch import Tensor
from torch.ao.quantization import quantize_dynamic
from torch.nn import Linear, Sequential, functional

from mpir.models import unpadded
from mpir.models.checkpoint import TransformersCheckpoint
from mpir.models.encoder import Encoder
from mpir.models.tokenise import PairTokenizer, TokenSequence, batches, pad
from mpir.models.unpadded import UnpaddedBert
from mpir.types import F32

Settings = tuple[str, str, int, Mapping[str, Any]]
"""A maker's name, the precision of the model it gets, tokens of a batch, and what else the maker takes."""
Forward = Callable[[Sequence[TokenSequence]], F32]
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def over_batches(settings: Settings, checkpoint: str, pairs: Sequence[Pair]) -> Callable[[], F32]:
    """Reads the pairs, makes the forward pass, and gives back what runs it over all of them, longest batches first."""
    load_quietly()
    maker, precision, tokens, options = settings
    cross = Encoder(checkpoint, device="cpu", precision=precision)
    read = PairTokenizer(cross.tokenizer, cross.max_length).read(pairs)
    parts = [(rows, read.sequences(rows)) for rows in batches(read.lengths, tokens)]
    forward: Forward = globals()[maker](cross, **options)

    @torch.inference_mode()
    def run() -> F32:
        outputs = np.empty((len(read.lengths), cross.outputs_count), np.float32)
        for rows, sequences in parts:
            outputs[rows] = forward(sequences)
        return outputs

    return run


def whole_call(precision: str, devices: str, checkpoint: str, pairs: Sequence[Pair]) -> Callable[[], F32]:
    """`Encoder.outputs`, which tokenises as well, on these devices."""
    load_quietly()
    cross = Encoder(checkpoint, device=devices, precision=precision)
    return lambda: cross.outputs(pairs)[0]


def by_transformers(cross: Encoder) -> Any:
    """transformers' own model of an encoder's weights, in its precision."""
    model, _ = TransformersCheckpoint(cross.checkpoint, cross.revision).load()
    return model.to(device=cross.device, dtype=cross.dtype)


def plain(cross: Encoder) -> Forward:
    """transformers' own forward pass."""
    return _padded(cross, by_transformers(cross))


def compiled(cross: Encoder, dynamic: bool | None) -> Forward:
    """transformers' own forward pass, compiled."""
    return _padded(cross, torch.compile(by_transformers(cross), dynamic=dynamic))


def int8(cross: Encoder, engine: str) -> Forward:
    """transformers' own forward pass, its linear layers quantised while they run."""
    torch.backends.quantized.engine = engine
    return _padded(cross, quantize_dynamic(by_transformers(cross), {Linear}, torch.qint8))


def unpad(cross: Encoder) -> Forward:
    """mpir's unpadded pass."""
    return _unpadded(UnpaddedBert(cross.model))


def unpad_with_fused_attention(cross: Encoder) -> Forward:
    """mpir's unpadded pass with PyTorch's fused attention, as on a GPU."""

    def attend(batch: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        mask = None if batch.even else batch.outside.to(query.dtype)
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=1.0)

    unpadded._Batch.attend = attend  # type: ignore[method-assign]
    return unpad(cross)


def unpad_with_full_last_layer(cross: Encoder) -> Forward:
    """mpir's unpadded pass with a last layer that computes every token."""

    def first_tokens(layer: Any, states: Tensor, batch: Any) -> Tensor:
        return layer.all_tokens(states, batch).index_select(0, batch.first)

    unpadded._Layer.first_tokens = first_tokens  # type: ignore[method-assign]
    return unpad(cross)


def unpad_compiled(cross: Encoder) -> Forward:
    """mpir's unpadded pass with all layers compiled as one function."""

    class Compiled(UnpaddedBert):
        def __call__(self, sequences: Sequence[TokenSequence]) -> Tensor:
            batch = unpadded._Batch([len(tokens.ids) for tokens in sequences], self.pooler.weight.device)
            logits: Tensor = trunk(self, self._embed(sequences, batch), batch)
            return logits

    @torch.compile(dynamic=True)
    def trunk(bert: UnpaddedBert, states: Tensor, batch: Any) -> Tensor:
        for layer in bert.layers[:-1]:
            states = layer.all_tokens(states, batch)
        first = bert.layers[-1].first_tokens(states, batch)
        logits: Tensor = bert.classifier(torch.tanh(bert.pooler(first)))
        return logits

    return _unpadded(Compiled(cross.model))


def unpad_int8(cross: Encoder) -> Forward:
    """mpir's unpadded pass with int8 in the three linear layers (of four) that come after attention."""
    bert = UnpaddedBert(cross.model)
    for layer in bert.layers:
        layer.wide = _int8(layer.wide)
        layer.mix.dense, layer.narrow.dense = _int8(layer.mix.dense), _int8(layer.narrow.dense)
    return _unpadded(bert)


def _int8(linear: Linear) -> Any:
    return quantize_dynamic(Sequential(linear), {Linear}, torch.qint8)


def onnx_runtime(cross: Encoder, quantised: bool) -> Forward:
    """ONNX Runtime on an exported graph, in fp32 or with weights and products in int8."""
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = torch.get_num_threads(), 3
    session = InferenceSession(_export(cross, quantised), options, providers=["CPUExecutionProvider"])
    return lambda sequences: session.run(None, _arrays(cross, sequences))[0]


def openvino(cross: Encoder, precision: str, quantised: bool = False) -> Forward:
    """OpenVINO on the model converted from torch or, quantised, on ONNX Runtime's int8 graph."""
    import openvino as ov

    source = _export(cross, True) if quantised else by_transformers(cross)
    example = None if quantised else {name: torch.from_numpy(array) for name, array in _example(cross).items()}
    graph = ov.convert_model(source, example_input=example)
    settings = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": torch.get_num_threads()}
    compiled_graph = ov.compile_model(graph, "CPU", settings | {"PERFORMANCE_HINT": "LATENCY"})
    return lambda sequences: compiled_graph(_arrays(cross, sequences))[0]


def _unpadded(bert: UnpaddedBert) -> Forward:
    return torch.inference_mode()(lambda sequences: bert(sequences).float().numpy())


def _padded(cross: Encoder, model: Any) -> Forward:
    def forward(sequences: Sequence[TokenSequence]) -> F32:
        tensors = {name: torch.from_numpy(array) for name, array in _arrays(cross, sequences).items()}
        outputs: F32 = model(**tensors).logits.float().numpy()
        return outputs

    return forward


def _arrays(cross: Encoder, sequences: Sequence[TokenSequence]) -> dict[str, npt.NDArray[np.int64]]:
    arrays = pad(sequences, cross.tokenizer.pad_token_id or 0)
    return {name: arrays[name] for name in INPUTS}


def _example(cross: Encoder) -> dict[str, npt.NDArray[np.int64]]:
    read = PairTokenizer(cross.tokenizer, cross.max_length).read([("one", "sentence"), ("one", "longer sentence")])
    return _arrays(cross, read.sequences(np.arange(2)))


def _export(cross: Encoder, quantised: bool) -> str:
    """The file of the model as an ONNX graph for batches of any size."""
    file = Path(mkdtemp()) / "model.onnx"
    tensors = {name: torch.from_numpy(array) for name, array in _example(cross).items()}
    axes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    torch.onnx.export(
        by_transformers(cross),
        kwargs=tensors,
        f=file,
        dynamo=True,
        dynamic_shapes=dict.fromkeys(INPUTS, axes),
        verbose=False,
    )
    if not quantised:
        return str(file)
    from onnxruntime.quantization import quantize_dynamic as quantise

    quantise(file, file.with_name("int8.onnx"))
    return str(file.with_name("int8.onnx"))
