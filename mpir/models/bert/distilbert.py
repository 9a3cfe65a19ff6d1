"""DistilBERT's parts under BERT's names, for the pass without padding (Sanh et al., "DistilBERT", 2019).

It differs from BERT in two ways: it has no token types, and the layer before the classifier ends in a ReLU.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from mpir.models.bert.bert import SUPPORTED

CLASSIFIER = "DistilBertForSequenceClassification"


def can_unpad(config: Any) -> bool:
    """Whether the pass without padding supports a configuration."""
    return bool(config.activation == SUPPORTED["hidden_act"])


def as_bert(model: Any) -> SimpleNamespace:
    """A classifier in the form that `UnpaddedBert` reads."""
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
        encoder=SimpleNamespace(layer=[_layer(layer) for layer in model.distilbert.transformer.layer]),
        pooler=SimpleNamespace(dense=model.pre_classifier),
    )
    head = {"classifier": model.classifier, "dropout": model.dropout, "activation": torch.relu}
    return SimpleNamespace(bert=bert, config=model.config, **head)


def _layer(layer: Any) -> SimpleNamespace:
    heads, block = layer.attention, layer.ffn
    projections = {"query": heads.q_lin, "key": heads.k_lin, "value": heads.v_lin}
    attention = SimpleNamespace(**projections, attention_head_size=heads.attention_head_size)

    def mix(mixed: Tensor, states: Tensor) -> Tensor:
        mixed_states: Tensor = layer.sa_layer_norm(heads.out_lin(mixed) + states)
        return mixed_states

    def narrow(wide: Tensor, states: Tensor) -> Tensor:
        next_states: Tensor = layer.output_layer_norm(block.dropout(block.lin2(wide)) + states)
        return next_states

    return SimpleNamespace(
        attention=SimpleNamespace(self=attention, output=mix),
        intermediate=SimpleNamespace(dense=block.lin1),
        output=narrow,
    )
