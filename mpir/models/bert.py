"""BERT, with a classifier or bare, from its files by torch, safetensors and tokenizers alone.

Importing transformers takes longer than everything else that a short run does. The forward pass is mpir's own in any
case (unpadded.py), so for the one kind of model that it is for, weights and tokenizer are read here; whatever is
unusual about a checkpoint leaves it to transformers, with which this agrees bit by bit (tests/models/test_bert.py).
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from mpir.errors import InputError
from mpir.io.read import read_json
from mpir.models.checkpoint_checks import check_sizes
from mpir.models.fast_tokenizer import FastTokenizer, open_tokenizer

SUPPORTED = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "is_decoder": False,
    "add_cross_attention": False,
    "position_embedding_type": "absolute",
}
"""What the unpadded pass computes; a configuration that does not name one of these means the same."""
CLASSIFIER, BARE = "BertForSequenceClassification", "BertModel"


class BertCheckpoint:
    """A folder with such a model: its configuration and tokenizer, and its weights when they are asked for."""

    def __init__(self, folder: Path, config: dict[str, Any], tokenizer: FastTokenizer) -> None:
        self.folder, self.tokenizer = folder, tokenizer
        self.config = SimpleNamespace(**{**config, "num_labels": len(config.get("id2label", "12"))})
        self.bare = config["architectures"] == [BARE]

    def load(self) -> tuple[Bert, list[str]] | None:
        """The model in single precision, and the weights it lacks: of a bare encoder the classifier's, which are 0.

        None where other weights are not all there.
        """
        try:
            weights = load_file(self.folder / "model.safetensors")
            if not all(value.is_floating_point() for value in weights.values()):
                return None
            with torch.device("meta"):
                model = Bert(self.config)
            if self.bare:
                weights = {f"bert.{name}": value for name, value in weights.items()}
            lacking = {
                name: torch.zeros(parameter.shape)
                for name, parameter in model.named_parameters()
                if "classifier" in name
            }
            added = lacking if self.bare else {}
            model.load_state_dict({name: value.float() for name, value in (weights | added).items()}, assign=True)
        except Exception:  # whatever damaged files run into; transformers says what is wrong
            return None
        return model.eval(), sorted(added)


def open_bert(checkpoint: str) -> BertCheckpoint | None:
    """The checkpoint of a folder, or None where it is another one than this module reads."""
    folder = Path(checkpoint)
    try:
        config = read_json(folder / "config.json")
        usual = all(config.get(name, value) == value for name, value in SUPPORTED.items())
        labelled = config["architectures"] == [CLASSIFIER] and isinstance(config["id2label"], dict)
        named = labelled or config["architectures"] == [BARE]
        check_sizes(config, checkpoint)
        fits = all(config[name] for name in SIZES) and config["hidden_size"] % config["num_attention_heads"] == 0
    except (InputError, KeyError, TypeError, ValueError):
        return None
    if not (usual and named and fits and (folder / "model.safetensors").is_file()):
        return None
    tokenizer = open_tokenizer(folder)
    return None if tokenizer is None else BertCheckpoint(folder, config, tokenizer)


SIZES = (
    *("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
    *("vocab_size", "type_vocab_size", "max_position_embeddings"),
)


class _Unset:
    """A module whose parameters are not filled at random, which would import half a second's worth, but assigned."""

    def reset_parameters(self) -> None:
        """Leave them."""


class _Linear(_Unset, nn.Linear):
    pass


class _Embedding(_Unset, nn.Embedding):
    pass


class _Norm(_Unset, nn.LayerNorm):
    pass


class Bert(nn.Module):
    """The model's weights by their names in transformers' `BertForSequenceClassification`; `UnpaddedBert` runs it."""

    base_model_prefix = "bert"

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config, width = config, config.hidden_size
        layers = (_Layer(config) for _ in range(config.num_hidden_layers))
        self.bert = _named(
            embeddings=_named(
                word_embeddings=_Embedding(config.vocab_size, width),
                position_embeddings=_Embedding(config.max_position_embeddings, width),
                token_type_embeddings=_Embedding(config.type_vocab_size, width),
                LayerNorm=_norm(config),
                dropout=nn.Identity(),
            ),
            encoder=_named(layer=nn.ModuleList(layers)),
            pooler=_named(dense=_Linear(width, width)),
        )
        self.dropout = nn.Identity()
        self.classifier = _Linear(width, config.num_labels)


class _Layer(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        width, wide = config.hidden_size, config.intermediate_size
        attention = _named(**{name: _Linear(width, width) for name in ("query", "key", "value")})
        attention.attention_head_size = width // config.num_attention_heads
        self.attention = nn.Module()
        self.attention.add_module("self", attention)
        self.attention.add_module("output", _Output(width, config))
        self.intermediate = _named(dense=_Linear(width, wide))
        self.output = _Output(wide, config)


class _Output(nn.Module):
    def __init__(self, wide: int, config: Any) -> None:
        super().__init__()
        self.dense, self.LayerNorm = _Linear(wide, config.hidden_size), _norm(config)

    def forward(self, states: Tensor, before: Tensor) -> Tensor:
        """The states (…, W) after a block, from its own (…, wide) and those before it (…, W)."""
        normed: Tensor = self.LayerNorm(self.dense(states) + before)
        return normed


def _norm(config: Any) -> _Norm:
    return _Norm(config.hidden_size, eps=getattr(config, "layer_norm_eps", 1e-12))


def _named(**modules: nn.Module) -> Any:
    """A module of several, by their names."""
    container = nn.Module()
    for name, module in modules.items():
        container.add_module(name, module)
    return container
