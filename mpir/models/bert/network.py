"""BERT's layers, without a forward pass or random weights, as containers for weights named as in transformers."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn


class _Unset:
    """A module without random initialisation, which would cost half a second of imports; weights are assigned."""

    def reset_parameters(self) -> None:
        """Leave them."""


class _Linear(_Unset, nn.Linear):
    pass


class _Embedding(_Unset, nn.Embedding):
    pass


class _Norm(_Unset, nn.LayerNorm):
    pass


class Bert(nn.Module):
    """Weights named as in transformers' `BertForSequenceClassification`; `UnpaddedBert` runs the model."""

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
    """A module that contains these modules under their names."""
    container = nn.Module()
    for name, module in modules.items():
        container.add_module(name, module)
    return container
