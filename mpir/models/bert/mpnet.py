"""MPNet's parts by the names of BERT's, for the pass without padding (Song et al., "MPNet", 2020).

It differs from BERT in four things: there are no types of tokens, positions are counted from the padding token's number
on, attention adds a bias by the distance of two tokens, and the classifier has a dropout more.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from mpir.models.bert.checkpoint import SUPPORTED

CLASSIFIER = "MPNetForSequenceClassification"


def can_unpad(config: Any) -> bool:
    """Whether a configuration is one that the pass without padding computes."""
    return bool(config.hidden_act == SUPPORTED["hidden_act"])


def as_bert(model: Any) -> SimpleNamespace:
    """An `MPNetForSequenceClassification` as `UnpaddedBert` reads a BERT, and beside it the `bias` of its attention."""
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
    """What attention adds (1, H, L, L) among L tokens."""

    def bias(longest: int) -> Tensor:
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
