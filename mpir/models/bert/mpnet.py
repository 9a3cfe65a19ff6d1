"""MPNet's parts under BERT's names, for the pass without padding (Song et al., "MPNet", 2020).

It differs from BERT in four ways: it has no token types, positions start after the padding token's id, attention adds a
bias for the distance of two tokens, and the classifier has an additional dropout.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from mpir.models.bert.bert import SUPPORTED

CLASSIFIER = "MPNetForSequenceClassification"


def can_unpad(config: Any) -> bool:
    """Whether the pass without padding supports a configuration."""
    return bool(config.hidden_act == SUPPORTED["hidden_act"])


def as_bert(model: Any) -> SimpleNamespace:
    """An `MPNetForSequenceClassification` in the form that `UnpaddedBert` reads, with the `bias` of its attention."""
    body, head = model.mpnet, model.classifier
    bert = SimpleNamespace(
        embeddings=_embeddings(body.embeddings),
        encoder=SimpleNamespace(layer=[_layer(layer) for layer in body.encoder.layer]),
        pooler=SimpleNamespace(dense=nn.Sequential(head.dropout, head.dense)),
    )
    return SimpleNamespace(
        bert=bert, classifier=head.out_proj, dropout=head.dropout, config=model.config, bias=_bias(body.encoder)
    )


def _bias(encoder: Any) -> Callable[[int], Tensor]:
    """A function that returns attention's bias (1, H, L, L) for L tokens."""

    def bias(longest: int) -> Tensor:
        """Compute the bias of relative positions for the longest text of a batch."""
        shape = torch.empty(1, longest, device=encoder.relative_attention_bias.weight.device)
        position_bias: Tensor = encoder.compute_position_bias(shape)
        return position_bias

    return bias


def _embeddings(tables: Any) -> SimpleNamespace:
    first = tables.padding_idx + 1
    return SimpleNamespace(
        word_embeddings=tables.word_embeddings,
        token_type_embeddings=lambda types: 0,
        position_embeddings=lambda positions: tables.position_embeddings(positions + first),
        LayerNorm=tables.LayerNorm,
        dropout=tables.dropout,
    )


def _layer(layer: Any) -> SimpleNamespace:
    block, heads = layer.attention, layer.attention.attn
    self_attention = SimpleNamespace(
        query=heads.q, key=heads.k, value=heads.v, attention_head_size=heads.attention_head_size
    )

    def mix(mixed: Tensor, states: Tensor) -> Tensor:
        mixed_states: Tensor = block.LayerNorm(block.dropout(heads.o(mixed)) + states)
        return mixed_states

    return SimpleNamespace(
        attention=SimpleNamespace(self=self_attention, output=mix), intermediate=layer.intermediate, output=layer.output
    )
