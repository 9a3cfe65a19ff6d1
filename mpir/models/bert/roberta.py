"""RoBERTa's and XLM-R's parts under BERT's names, for the pass without padding (Liu et al., "RoBERTa", 2019).

They differ from BERT in three ways: positions start after the padding token's id, there is one token type, and the
classifier has an additional dropout.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from torch import nn

from mpir.models.bert.bert import SUPPORTED

CLASSIFIERS = (
    "RobertaForSequenceClassification",
    "XLMRobertaForSequenceClassification",
    "CamembertForSequenceClassification",
)


def can_unpad(config: Any) -> bool:
    """Whether the pass without padding supports a configuration."""
    usual = {name: value for name, value in SUPPORTED.items() if name != "model_type"}
    return config.type_vocab_size == 1 and all(getattr(config, name, value) == value for name, value in usual.items())


def as_bert(model: Any) -> SimpleNamespace:
    """A classifier in the form that `UnpaddedBert` reads."""
    body, head = model.roberta, model.classifier
    bert = SimpleNamespace(
        embeddings=_embeddings(body.embeddings),
        encoder=body.encoder,
        pooler=SimpleNamespace(dense=nn.Sequential(head.dropout, head.dense)),
    )
    return SimpleNamespace(bert=bert, classifier=head.out_proj, dropout=head.dropout, config=model.config)


def _embeddings(tables: Any) -> SimpleNamespace:
    first = tables.padding_idx + 1
    return SimpleNamespace(
        word_embeddings=tables.word_embeddings,
        token_type_embeddings=lambda types: tables.token_type_embeddings.weight[0],
        position_embeddings=lambda positions: tables.position_embeddings(positions + first),
        LayerNorm=tables.LayerNorm,
        dropout=tables.dropout,
    )
