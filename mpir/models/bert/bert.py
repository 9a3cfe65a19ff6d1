"""BERT: its layers as containers for weights, and their forward pass without padding.

Weights and their names are those of transformers' `BertForSequenceClassification`, and so is the arithmetic; only work
without effect is left out. The tokens of a batch are concatenated in one matrix, so that no linear layer sees padding
(Zeng et al., "Boosting Distributed Training Performance of the Unpadded BERT Model", 2022). The classifier reads only
the first token's last state, so the last layer computes attention and the feed-forward block only for that token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from mpir.models.bert.base import Batch, UnpaddedModel, by_head
from mpir.models.bert.exits import StateCache
from mpir.models.tokens.tokenise import TokenSequence
from mpir.types import I64, Bool

CLASSIFIER = "BertForSequenceClassification"
SUPPORTED = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "is_decoder": False,
    "add_cross_attention": False,
    "position_embedding_type": "absolute",
}
"""The settings that the unpadded pass supports; they are also the defaults of a configuration without them."""


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
        layers = (_LayerWeights(config) for _ in range(config.num_hidden_layers))
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
        exits = {
            str(layer): _named(dense=_Linear(width, width), classifier=_Linear(width, config.num_labels))
            for layer in getattr(config, "exits", ())
        }
        self.exits = nn.ModuleDict(exits)


class _LayerWeights(nn.Module):
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


class UnpaddedBert(UnpaddedModel):
    """The forward pass of a `BertForSequenceClassification`, or a class in ADAPTERS, on its device, in its precision.

    With `trains`, gradients reach the model's own parameters, its dropout applies in training mode (except for
    attention weights), and weights are read at each call; otherwise they are copied once.
    """

    def __init__(self, model: Any, *, trains: bool = False) -> None:
        """Use the model's weights; query, key and value become one matrix."""
        self.bias, self.activation = getattr(model, "bias", None), getattr(model, "activation", torch.tanh)
        self.embeddings, self.pooler, self.classifier = model.bert.embeddings, model.bert.pooler.dense, model.classifier
        self.dropout = model.dropout
        self.exits = {int(layer): head for layer, head in getattr(model, "exits", {}).items()}
        self.layers = [
            _LayerPass(layer, model.config.num_attention_heads, trains) for layer in model.bert.encoder.layer
        ]

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

    def head(self, vectors: Tensor, depth: int | None = None) -> Tensor:
        """The classifier's outputs (N, K) for states (N, W): its pooler, activation, dropout and last layer.

        After `depth` layers it is the exit there that reads the states.
        """
        pooler, classifier = self.pooler, self.classifier
        if depth is not None and depth < len(self.layers):
            pooler, classifier = self.exits[depth].dense, self.exits[depth].classifier
        logits: Tensor = classifier(self.dropout(self.activation(pooler(vectors))))
        return logits

    def read_to(
        self, sequences: Sequence[TokenSequence], depth: int | None = None, state_cache: StateCache | None = None
    ) -> Tensor:
        """The states (T, W) of all tokens after `depth` layers, by default all.

        They go on from those in the `state_cache`, where it has them, and else are stored there.
        """
        batch = self._batch(sequences)
        known = None if state_cache is None else state_cache.find(sequences)
        if known is None:
            first, states = 0, self._embed(sequences, batch)
        else:
            assert state_cache is not None
            first, states = state_cache.layer, functional.pad(known, (0, 0, 0, len(batch.positions) - batch.tokens))
        for layer in self.layers[first:depth]:
            states = layer.all_tokens(states, batch)
        states = states[: batch.tokens]
        if state_cache is not None and known is None:
            state_cache.keep(len(self.layers) if depth is None else depth, sequences, states)
        return states

    def sentence_outputs(
        self,
        sequences: Sequence[TokenSequence],
        lengths: I64,
        is_read: Bool,
        *,
        depth: int | None = None,
        state_cache: StateCache | None = None,
    ) -> Tensor:
        """Raw outputs (R, K): the classifier reads the first token's state, and the mean of each sentence's states."""
        states = self.read_to(sequences, depth, state_cache)
        pieces, read = (torch.from_numpy(array).to(states.device) for array in (lengths, is_read))
        means = torch.segment_reduce(states.float(), "mean", lengths=pieces, axis=0)[read]
        return self.head(means.to(states.dtype), depth)

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


class _LayerPass:
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
