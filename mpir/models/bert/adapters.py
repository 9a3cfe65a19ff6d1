"""Relatives of BERT, with their parts under BERT's names, for the pass without padding.

- MPNet (Song et al., "MPNet", 2020) has no token types, positions start after the padding token's id, attention adds a
  bias for the distance of two tokens, and the classifier has an additional dropout.
- RoBERTa, XLM-R and CamemBERT (Liu et al., "RoBERTa", 2019) differ in their positions and dropout as MPNet does, and
  have one token type.
- DistilBERT (Sanh et al., "DistilBERT", 2019) has no token types, and the layer before the classifier ends in a ReLU.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mpir.models.bert.bert import SUPPORTED


class Adapter(NamedTuple):
    """Whether the pass supports a configuration, and a classifier in the form that `UnpaddedBert` reads."""

    can_unpad: Callable[[Any], bool]
    as_bert: Callable[[Any], SimpleNamespace]


def _mpnet(model: Any) -> SimpleNamespace:
    """With the `bias` of its attention."""
    encoder = model.mpnet.encoder
    embeddings = _embeddings(model.mpnet.embeddings, lambda types: 0)
    layers = SimpleNamespace(layer=[_mpnet_layer(layer) for layer in encoder.layer])

    def bias(longest: int) -> Tensor:
        """Attention's bias (1, H, L, L) for the longest text of a batch, of L tokens."""
        shape = torch.empty(1, longest, device=encoder.relative_attention_bias.weight.device)
        position_bias: Tensor = encoder.compute_position_bias(shape)
        return position_bias

    return _classifier(model, embeddings, layers, bias=bias)


def _mpnet_layer(layer: Any) -> SimpleNamespace:
    block, heads = layer.attention, layer.attention.attn
    projections = {"query": heads.q, "key": heads.k, "value": heads.v}

    def mix(mixed: Tensor, states: Tensor) -> Tensor:
        mixed_states: Tensor = block.LayerNorm(block.dropout(heads.o(mixed)) + states)
        return mixed_states

    return _layer(projections, heads.attention_head_size, mix, layer.intermediate, layer.output)


def _roberta(model: Any) -> SimpleNamespace:
    tables = model.roberta.embeddings
    embeddings = _embeddings(tables, lambda types: tables.token_type_embeddings.weight[0])
    return _classifier(model, embeddings, model.roberta.encoder)


def _embeddings(tables: Any, of_types: Callable[[Tensor], Any]) -> SimpleNamespace:
    """Tables whose positions start after the padding token's id."""
    first = tables.padding_idx + 1
    return SimpleNamespace(
        word_embeddings=tables.word_embeddings,
        token_type_embeddings=of_types,
        position_embeddings=lambda positions: tables.position_embeddings(positions + first),
        LayerNorm=tables.LayerNorm,
        dropout=tables.dropout,
    )


def _classifier(model: Any, embeddings: Any, encoder: Any, **options: Any) -> SimpleNamespace:
    """A classifier with a dropout before its first layer, too."""
    head = model.classifier
    pooler = SimpleNamespace(dense=nn.Sequential(head.dropout, head.dense))
    bert = SimpleNamespace(embeddings=embeddings, encoder=encoder, pooler=pooler)
    return SimpleNamespace(bert=bert, classifier=head.out_proj, dropout=head.dropout, config=model.config, **options)


def _distilbert(model: Any) -> SimpleNamespace:
    tables = model.distilbert.embeddings
    embeddings = SimpleNamespace(
        word_embeddings=tables.word_embeddings,
        token_type_embeddings=lambda types: 0,
        position_embeddings=tables.position_embeddings,
        LayerNorm=tables.LayerNorm,
        dropout=tables.dropout,
    )
    bert = SimpleNamespace(
        embeddings=embeddings,
        encoder=SimpleNamespace(layer=[_distilbert_layer(layer) for layer in model.distilbert.transformer.layer]),
        pooler=SimpleNamespace(dense=model.pre_classifier),
    )
    head = {"classifier": model.classifier, "dropout": model.dropout, "activation": torch.relu}
    return SimpleNamespace(bert=bert, config=model.config, **head)


def _distilbert_layer(layer: Any) -> SimpleNamespace:
    heads, block = layer.attention, layer.ffn
    projections = {"query": heads.q_lin, "key": heads.k_lin, "value": heads.v_lin}

    def mix(mixed: Tensor, states: Tensor) -> Tensor:
        mixed_states: Tensor = layer.sa_layer_norm(heads.out_lin(mixed) + states)
        return mixed_states

    def narrow(wide: Tensor, states: Tensor) -> Tensor:
        next_states: Tensor = layer.output_layer_norm(block.dropout(block.lin2(wide)) + states)
        return next_states

    return _layer(projections, heads.attention_head_size, mix, SimpleNamespace(dense=block.lin1), narrow)


def _layer(projections: dict[str, Any], size: int, mix: Any, intermediate: Any, output: Any) -> SimpleNamespace:
    """A layer under BERT's names."""
    attention = SimpleNamespace(**projections, attention_head_size=size)
    attention = SimpleNamespace(self=attention, output=mix)
    return SimpleNamespace(attention=attention, intermediate=intermediate, output=output)


def _is_usual(config: Any) -> bool:
    usual = {name: value for name, value in SUPPORTED.items() if name != "model_type"}
    return all(getattr(config, name, value) == value for name, value in usual.items())


_ROBERTA = Adapter(lambda config: config.type_vocab_size == 1 and _is_usual(config), _roberta)
ADAPTERS = {
    "CamembertForSequenceClassification": _ROBERTA,
    "DistilBertForSequenceClassification": Adapter(
        lambda config: bool(config.activation == SUPPORTED["hidden_act"]), _distilbert
    ),
    "MPNetForSequenceClassification": Adapter(
        lambda config: bool(config.hidden_act == SUPPORTED["hidden_act"]), _mpnet
    ),
    "RobertaForSequenceClassification": _ROBERTA,
    "XLMRobertaForSequenceClassification": _ROBERTA,
}
"""The adapters of classifiers, by their classes."""
