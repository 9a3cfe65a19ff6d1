"""A forward pass for BERT classifiers without padding, and without the part of the last layer that nobody reads.

Weights and arithmetic are those of transformers' `BertForSequenceClassification`; what is left out is work without
effect. The tokens of a batch lie one after another in one matrix, so that no linear layer sees padding (Zeng et al.,
"Boosting Distributed Training Performance of the Unpadded BERT Model", 2022). The classifier reads only the first
token's last state, so the last layer computes attention and feed-forward block for that token alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from mpir.perspectives.tokens import Tokens

ROWS = 64
"""The packed matrix is filled up to a multiple of this: oneDNN keeps a kernel, and memory, for every shape it meets."""
SUPPORTED = {"model_type": "bert", "hidden_act": "gelu", "is_decoder": False, "position_embedding_type": "absolute"}


def packs(model: Any) -> bool:
    """Whether `PackedBert` can stand in for the model's own forward pass."""
    if type(model).__name__ != "BertForSequenceClassification":
        return False
    return all(getattr(model.config, name, value) == value for name, value in SUPPORTED.items())


class PackedBert:
    """The forward pass of one `BertForSequenceClassification` in evaluation mode, on its device, in its precision."""

    def __init__(self, model: Any) -> None:
        """Take over the model's weights; query, key and value become one matrix."""
        self.embeddings, self.pooler, self.classifier = model.bert.embeddings, model.bert.pooler.dense, model.classifier
        self.layers = [_Layer(layer, model.config.num_attention_heads) for layer in model.bert.encoder.layer]

    @torch.inference_mode()
    def __call__(self, sequences: Sequence[Tokens]) -> Tensor:
        """Raw outputs (N, K) of N token sequences."""
        batch = _Batch([len(tokens.ids) for tokens in sequences], self.pooler.weight.device)
        states = self._embed(sequences, batch)
        for layer in self.layers[:-1]:
            states = layer.all_tokens(states, batch)
        first = self.layers[-1].first_tokens(states, batch)
        logits: Tensor = self.classifier(torch.tanh(self.pooler(first)))
        return logits

    def _embed(self, sequences: Sequence[Tokens], batch: _Batch) -> Tensor:
        tables = self.embeddings
        device = batch.positions.device
        filling = np.zeros(len(batch.positions) - batch.tokens, np.int32)
        ids, types = (
            torch.from_numpy(np.concatenate([*part, filling])).to(device) for part in zip(*sequences, strict=True)
        )
        states = tables.word_embeddings(ids) + tables.token_type_embeddings(types)
        normed: Tensor = tables.LayerNorm(states + tables.position_embeddings(batch.positions))
        return normed


class _Batch:
    """Where N sequences lie in the packed matrix of T rows: their tokens, and less than ROWS that nobody reads."""

    def __init__(self, sizes: list[int], device: torch.device) -> None:
        lengths = torch.tensor(sizes)
        self.count, self.longest = len(sizes), max(sizes)
        columns = torch.arange(self.longest).expand(self.count, -1)
        inside = columns < lengths[:, None]
        self.even = bool(inside.all())
        self.tokens = sum(sizes)
        filling = -self.tokens % ROWS
        self.positions = functional.pad(columns[inside], (0, filling)).to(device)
        self.first = (torch.cumsum(lengths, 0) - lengths).to(device)
        self.places = functional.pad(inside.flatten().nonzero().squeeze(1), (0, filling)).to(device)
        self.outside = torch.zeros(inside.shape).masked_fill(~inside, -torch.inf)[:, None, None, :].to(device)

    def pad(self, states: Tensor) -> Tensor:
        """(T, W) as (N, longest, W): a view where all have one length, else a copy with zeros after each sequence."""
        width, states = states.shape[1], states[: self.tokens]
        if not self.even:
            empty = states.new_zeros(self.count * self.longest, width)
            states = empty.index_copy_(0, self.places[: self.tokens], states)
        return states.view(self.count, self.longest, width)

    def unpad(self, states: Tensor) -> Tensor:
        """(N, longest, W) as (T, W)."""
        return states.flatten(0, 1).index_select(0, self.places)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attention inside each sequence, heads apart: (N, H, Q, w) from (N, H, Q, w) and twice (N, H, longest, w)."""
        mask = None if self.even else self.outside.to(query.dtype)
        if query.device.type != "cpu":
            return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=1.0)
        # On a CPU, and for sentences, two plain products take less time than the fused kernel.
        scores = query @ key.transpose(2, 3)
        return torch.softmax(scores if mask is None else scores + mask, dim=-1) @ value


class _Layer:
    """One transformer layer."""

    def __init__(self, layer: Any, heads: int) -> None:
        attention = layer.attention.self
        parts = (attention.query, attention.key, attention.value)
        scale = attention.attention_head_size**-0.5  # of the scores; here once for all
        self.heads, self.width = heads, attention.query.out_features
        self.weight = torch.cat([p.weight * (scale if p is attention.query else 1.0) for p in parts]).detach()
        self.bias = torch.cat([p.bias * (scale if p is attention.query else 1.0) for p in parts]).detach()
        self.out, self.attention_norm = layer.attention.output.dense, layer.attention.output.LayerNorm
        self.wide, self.narrow, self.norm = layer.intermediate.dense, layer.output.dense, layer.output.LayerNorm

    def all_tokens(self, states: Tensor, batch: _Batch) -> Tensor:
        """The next states (T, W) of all tokens."""
        mixed = batch.attend(*self._heads(batch.pad(functional.linear(states, self.weight, self.bias)), 3))
        return self._finish(states, batch.unpad(mixed.transpose(1, 2).flatten(2)))

    def first_tokens(self, states: Tensor, batch: _Batch) -> Tensor:
        """The next states (N, W) of each sequence's first token."""
        own = states.index_select(0, batch.first)
        query = functional.linear(own, self.weight[: self.width], self.bias[: self.width])
        others = functional.linear(states, self.weight[self.width :], self.bias[self.width :])
        mixed = batch.attend(*self._heads(query[:, None], 1), *self._heads(batch.pad(others), 2))
        return self._finish(own, mixed.flatten(1))

    def _heads(self, states: Tensor, parts: int) -> Tensor:
        """(N, Q, parts · W) as (parts, N, heads, Q, W / heads), in one copy."""
        apart = states.view(*states.shape[:2], parts, self.heads, self.width // self.heads)
        return apart.permute(2, 0, 3, 1, 4).contiguous()

    def _finish(self, states: Tensor, mixed: Tensor) -> Tensor:
        states = self.attention_norm(self.out(mixed) + states)
        result: Tensor = self.norm(self.narrow(functional.gelu(self.wide(states))) + states)
        return result
