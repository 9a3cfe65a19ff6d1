"""BERT's forward pass without padding and, for classifiers, without the unused part of the last layer.

Weights and arithmetic are those of transformers' `BertForSequenceClassification`, or of the same for MPNet, RoBERTa,
XLM-R and DistilBERT (mpnet.py, roberta.py, distilbert.py); ModernBERT has a separate pass (modernbert.py). Only work
without effect is left out. The tokens of a batch are concatenated in one matrix, so that no linear layer sees padding
(Zeng et al., "Boosting Distributed Training Performance of the Unpadded BERT Model", 2022). The classifier reads only
the first token's last state, so the last layer computes attention and the feed-forward block only for that token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from mpir.models.bert import distilbert, modernbert, mpnet, roberta
from mpir.models.bert.base import Batch, UnpaddedModel, by_head
from mpir.models.bert.checkpoint import CLASSIFIER, SUPPORTED
from mpir.models.bert.network import Bert
from mpir.models.bert.pruner import Pruner, UnpaddedPruner
from mpir.models.tokenise import TokenSequence

ADAPTERS: dict[str, Any] = {
    mpnet.CLASSIFIER: mpnet,
    distilbert.CLASSIFIER: distilbert,
    **dict.fromkeys(roberta.CLASSIFIERS, roberta),
}
"""Adapter modules that present other classifiers as a BERT, by the classifiers' classes."""


def can_unpad(model: Any) -> bool:
    """Whether `unpad` has something that can stand in for the model's own forward pass."""
    class_name = type(model).__name__
    if isinstance(model, Pruner):
        return can_unpad(model.ranking_model)
    if class_name == modernbert.CLASSIFIER:
        return modernbert.can_unpad(model.config)
    if class_name in ADAPTERS:
        return bool(ADAPTERS[class_name].can_unpad(model.config))
    if not isinstance(model, Bert) and class_name != CLASSIFIER:
        return False
    return all(getattr(model.config, name, value) == value for name, value in SUPPORTED.items())


def unpad(model: Any, *, trains: bool = False) -> UnpaddedModel:
    """The forward pass without padding of a model for which `can_unpad` holds; `trains` as for `UnpaddedBert`."""
    if isinstance(model, Pruner):
        return UnpaddedPruner(unpad(model.ranking_model), model)
    if type(model).__name__ == modernbert.CLASSIFIER:
        return modernbert.UnpaddedModernBert(model)
    return UnpaddedBert(model, trains=trains)


class UnpaddedBert(UnpaddedModel):
    """The forward pass of a `BertForSequenceClassification`, or a class in ADAPTERS, on its device, in its precision.

    With `trains`, gradients reach the model's own parameters, its dropout applies in training mode (except for
    attention weights), and weights are read at each call; otherwise they are copied once.
    """

    def __init__(self, model: Any, *, trains: bool = False) -> None:
        """Use the model's weights; query, key and value become one matrix."""
        if type(model).__name__ in ADAPTERS:
            model = ADAPTERS[type(model).__name__].as_bert(model)
        self.bias, self.activation = getattr(model, "bias", None), getattr(model, "activation", torch.tanh)
        self.embeddings, self.pooler, self.classifier = model.bert.embeddings, model.bert.pooler.dense, model.classifier
        self.dropout = model.dropout
        self.layers = [_Layer(layer, model.config.num_attention_heads, trains) for layer in model.bert.encoder.layer]

    def __call__(self, sequences: Sequence[TokenSequence]) -> Tensor:
        """Raw outputs (N, K) of N token sequences."""
        batch = self._batch(sequences)
        states = self._embed(sequences, batch)
        for layer in self.layers[:-1]:
            states = layer.all_tokens(states, batch)
        first = self.layers[-1].first_tokens(states, batch)
        return self.head(first)[: len(sequences)]

    def states_and_outputs(self, sequences: Sequence[TokenSequence]) -> tuple[Tensor, Tensor]:
        """The last states (T, W) of all tokens, and raw outputs (N, K)."""
        batch = self._batch(sequences)
        states = self._states(sequences, batch)
        return states[: batch.tokens], self.head(states.index_select(0, batch.first))[: len(sequences)]

    def head(self, vectors: Tensor) -> Tensor:
        """The classifier's outputs (N, K) for states (N, W): its pooler, activation, dropout and last layer."""
        logits: Tensor = self.classifier(self.dropout(self.activation(self.pooler(vectors))))
        return logits

    def _states(self, sequences: Sequence[TokenSequence], batch: Batch) -> Tensor:
        states = self._embed(sequences, batch)
        for layer in self.layers:
            states = layer.all_tokens(states, batch)
        return states

    def _embed(self, sequences: Sequence[TokenSequence], batch: Batch) -> Tensor:
        tables = self.embeddings
        ids, types = self._rows(sequences, batch)
        states = tables.word_embeddings(ids) + tables.token_type_embeddings(types)
        normed: Tensor = tables.LayerNorm(states + tables.position_embeddings(batch.positions))
        dropped: Tensor = tables.dropout(normed)
        return dropped


class _Layer:
    """One transformer layer."""

    def __init__(self, layer: Any, heads: int, trains: bool) -> None:
        self.attention, self.heads = layer.attention.self, heads
        self.width = self.attention.query.out_features
        self.mix, self.narrow = layer.attention.output, layer.output
        self.wide = layer.intermediate.dense
        self._joined = None if trains else tuple(matrix.detach() for matrix in self._join())

    def _join(self) -> tuple[Tensor, Tensor]:
        """Weight (3 W, W) and bias (3 W,) of query, key and value; the query includes the scaling of scores."""
        projections = (self.attention.query, self.attention.key, self.attention.value)
        scales = (self.attention.attention_head_size**-0.5, 1.0, 1.0)
        weight, bias = (
            [getattr(p, n) * s for p, s in zip(projections, scales, strict=True)] for n in ("weight", "bias")
        )
        return torch.cat(weight), torch.cat(bias)

    def all_tokens(self, states: Tensor, batch: Batch) -> Tensor:
        """The next states (T, W) of all tokens."""
        weight, bias = self._joined or self._join()
        joined = functional.linear(states, weight, bias)
        return self._finish(states, batch.attend_all(joined, self.heads))

    def first_tokens(self, states: Tensor, batch: Batch) -> Tensor:
        """The next states (N, W) of each sequence's first token."""
        weight, bias = self._joined or self._join()
        first_states = states.index_select(0, batch.first)
        query = functional.linear(first_states, weight[: self.width], bias[: self.width])
        keys_values = functional.linear(states, weight[self.width :], bias[self.width :])
        mixed = batch.attend(*by_head(query[:, None], 1, self.heads), *by_head(batch.pad(keys_values), 2, self.heads))
        return self._finish(first_states, mixed.flatten(1))

    def _finish(self, states: Tensor, mixed: Tensor) -> Tensor:
        states = self.mix(mixed, states)
        result: Tensor = self.narrow(functional.gelu(self.wide(states)), states)
        return result
