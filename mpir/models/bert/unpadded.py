"""A forward pass for BERT without padding, and for its classifier without the part of the last layer nobody reads.

Weights and arithmetic are those of transformers' `BertForSequenceClassification`, or of the same for MPNet, RoBERTa,
XLM-R and DistilBERT (mpnet.py, roberta.py, distilbert.py); what is left out is work without effect. The tokens of a
batch lie one after another in one matrix, so that no linear layer sees padding (Zeng et al., "Boosting Distributed
Training Performance of the Unpadded BERT Model", 2022). The classifier reads only the first token's last state, so the
last layer computes attention and feed-forward block for that token alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from mpir.models.bert import distilbert, mpnet, roberta
from mpir.models.bert.checkpoint import CLASSIFIER, SUPPORTED
from mpir.models.bert.network import Bert
from mpir.models.pooling import MEAN, Pooling
from mpir.models.tokenise import TokenSequence
from mpir.types import Bool

ROWS = 64
"""Tokens are filled up to a multiple of this: oneDNN keeps a kernel, and memory, for every shape it meets."""
LONG = 128
"""Tokens of the longest sequence from which on a CPU attends to one sequence after another: the scores of all of them
together outgrow its caches, and the C library asks the system for such memory again and again."""
STEPS = 8
"""So many sizes there are of attention's two other measures between a number and its double, for the same reason."""


ADAPTERS: dict[str, Any] = {
    mpnet.CLASSIFIER: mpnet,
    distilbert.CLASSIFIER: distilbert,
    **dict.fromkeys(roberta.CLASSIFIERS, roberta),
}
"""Modules that read other classifiers as a BERT, by the classifiers' classes."""


def can_unpad(model: Any) -> bool:
    """Whether `UnpaddedBert` can stand in for the model's own forward pass."""
    class_name = type(model).__name__
    if class_name in ADAPTERS:
        return bool(ADAPTERS[class_name].can_unpad(model.config))
    if not isinstance(model, Bert) and class_name != CLASSIFIER:
        return False
    return all(getattr(model.config, name, value) == value for name, value in SUPPORTED.items())


class UnpaddedBert:
    """The forward pass of one `BertForSequenceClassification`, or of ADAPTERS, on its device, in its precision.

    With `trains`, gradients reach the model's own parameters, its dropout counts while it is in training mode (but for
    that of attention weights), and weights are read at each call; else they are those that the model had at first.
    """

    def __init__(self, model: Any, *, trains: bool = False) -> None:
        """Take over the model's weights; query, key and value become one matrix."""
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
        logits: Tensor = self.classifier(self.dropout(self.activation(self.pooler(first))))
        return logits[: len(sequences)]

    def vectors(self, sequences: Sequence[TokenSequence], pooling: Pooling = MEAN) -> Tensor:
        """Vectors (N, W) of each sequence's last states, in single precision."""
        batch = self._batch(sequences)
        states, count = self._states(sequences, batch), len(sequences)
        return pooling(batch.pad(states)[:count], batch.inside[:count])

    def states(self, sequences: Sequence[TokenSequence], unseen: int | None = None) -> Tensor:
        """The last states (T, W) of all tokens, sequence after sequence. No token sees those with the id `unseen`."""
        hidden = None if unseen is None else np.concatenate([tokens.ids for tokens in sequences]) == unseen
        batch = self._batch(sequences, hidden)
        return self._states(sequences, batch)[: batch.tokens]

    def _batch(self, sequences: Sequence[TokenSequence], hidden: Bool | None = None) -> _Batch:
        return _Batch([len(tokens.ids) for tokens in sequences], self.classifier.weight.device, hidden, self.bias)

    def _states(self, sequences: Sequence[TokenSequence], batch: _Batch) -> Tensor:
        states = self._embed(sequences, batch)
        for layer in self.layers:
            states = layer.all_tokens(states, batch)
        return states

    def _embed(self, sequences: Sequence[TokenSequence], batch: _Batch) -> Tensor:
        tables = self.embeddings
        device = batch.positions.device
        filling = np.zeros(len(batch.positions) - batch.tokens, np.int32)
        ids, types = (
            torch.from_numpy(np.concatenate([*arrays, filling])).to(device) for arrays in zip(*sequences, strict=True)
        )
        states = tables.word_embeddings(ids) + tables.token_type_embeddings(types)
        normed: Tensor = tables.LayerNorm(states + tables.position_embeddings(batch.positions))
        dropped: Tensor = tables.dropout(normed)
        return dropped


def _filled(count: int) -> int:
    """A count, filled up to one of STEPS sizes between two powers of two."""
    step = 1 << max(0, count.bit_length() - STEPS.bit_length())
    return -(-count // step) * step


class _Batch:
    """Where sequences lie in the matrix of T rows: their tokens, and less than ROWS that nobody reads.

    N and the longest sequence's length are filled up, too; sequences that are not there see what they like. Nobody sees
    the `hidden` tokens (T,). `bias` (1, H, L, L) of a length is added to attention's scores.
    """

    def __init__(
        self,
        sizes: list[int],
        device: torch.device,
        hidden: Bool | None = None,
        bias: Callable[[int], Tensor] | None = None,
    ) -> None:
        self.count, self.longest = _filled(len(sizes)), _filled(max(sizes))
        lengths = torch.tensor(sizes + [0] * (self.count - len(sizes)))
        columns = torch.arange(self.longest).expand(self.count, -1)
        inside = columns < lengths[:, None]
        self.inside = inside.to(device)
        self.even = bool(inside.all()) and hidden is None
        self.tokens, self.sizes = sum(sizes), sizes
        self.apart = device.type == "cpu" and self.longest >= LONG and hidden is None
        filling = -self.tokens % ROWS
        self.positions = functional.pad(columns[inside], (0, filling)).to(device)
        self.first = (torch.cumsum(lengths, 0) - lengths).clamp(max=self.tokens - 1).to(device)
        self.places = functional.pad(inside.flatten().nonzero().squeeze(1), (0, filling)).to(device)
        nowhere = ~inside & (lengths > 0)[:, None]  # without a place to look at, attention would be NaN
        if hidden is not None:
            nowhere[inside] = torch.from_numpy(hidden)
        self.outside = torch.zeros(inside.shape).masked_fill(nowhere, -torch.inf)[:, None, None, :].to(device)
        self.bias = None if bias is None else bias(self.longest)
        self._added: Tensor | None = None

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
        added = self._added_to(query)
        return _attention(query, key, value, None if added is None else added[:, :, : query.shape[2]])

    def _added_to(self, query: Tensor) -> Tensor | None:
        """What scores have added to them: the bias, and minus infinity where there is nothing to see. Made once."""
        if self._added is None:
            biases = (None if self.even else self.outside, self.bias)
            for bias in (tensor.to(query.dtype) for tensor in biases if tensor is not None):
                self._added = bias if self._added is None else self._added + bias
        return self._added

    def attend_apart(self, states: Tensor, heads: int) -> Tensor:
        """Attention inside one sequence after another: (T, W) from queries, keys and values (T, 3 W)."""
        by_size = torch.split(states.view(len(states), 3, heads, -1), [*self.sizes, len(states) - self.tokens])
        sequences = (sequence.permute(1, 2, 0, 3)[:, None] for sequence in by_size[:-1])
        mixed = [_attention(query, key, value, self._bias_among(query)) for query, key, value in sequences]
        filling = states.new_zeros(len(by_size[-1]), states.shape[1] // 3)
        return torch.cat([*(sequence[0].transpose(0, 1).flatten(1) for sequence in mixed), filling])

    def _bias_among(self, query: Tensor) -> Tensor | None:
        """The bias (1, H, n, n) among the n tokens of one sequence."""
        count = query.shape[2]
        return None if self.bias is None else self.bias[:, :, :count, :count].to(query.dtype)


def _attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """What the queries (N, H, Q, w) take from the values (N, H, L, w)."""
    in_fp32 = query.dtype == torch.float32 and query.shape[2] >= LONG
    if query.device.type != "cpu" or in_fp32:
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=1.0)
    # On a CPU two plain products take less time than the fused kernel: for sentences, and in bfloat16.
    scores = query @ key.transpose(2, 3)
    return torch.softmax(scores if mask is None else scores + mask, dim=-1) @ value


class _Layer:
    """One transformer layer."""

    def __init__(self, layer: Any, heads: int, trains: bool) -> None:
        self.attention, self.heads = layer.attention.self, heads
        self.width = self.attention.query.out_features
        self.mix, self.narrow = layer.attention.output, layer.output
        self.wide = layer.intermediate.dense
        self._joined = None if trains else tuple(matrix.detach() for matrix in self._join())

    def _join(self) -> tuple[Tensor, Tensor]:
        """Weight (3 W, W) and bias (3 W,) of query, key and value, the query scaled as the scores shall be."""
        projections = (self.attention.query, self.attention.key, self.attention.value)
        scales = (self.attention.attention_head_size**-0.5, 1.0, 1.0)
        weight, bias = (
            [getattr(p, n) * s for p, s in zip(projections, scales, strict=True)] for n in ("weight", "bias")
        )
        return torch.cat(weight), torch.cat(bias)

    def all_tokens(self, states: Tensor, batch: _Batch) -> Tensor:
        """The next states (T, W) of all tokens."""
        weight, bias = self._joined or self._join()
        joined = functional.linear(states, weight, bias)
        if batch.apart:
            return self._finish(states, batch.attend_apart(joined, self.heads))
        mixed = batch.attend(*self._heads(batch.pad(joined), 3))
        return self._finish(states, batch.unpad(mixed.transpose(1, 2).flatten(2)))

    def first_tokens(self, states: Tensor, batch: _Batch) -> Tensor:
        """The next states (N, W) of each sequence's first token."""
        weight, bias = self._joined or self._join()
        first_states = states.index_select(0, batch.first)
        query = functional.linear(first_states, weight[: self.width], bias[: self.width])
        keys_values = functional.linear(states, weight[self.width :], bias[self.width :])
        mixed = batch.attend(*self._heads(query[:, None], 1), *self._heads(batch.pad(keys_values), 2))
        return self._finish(first_states, mixed.flatten(1))

    def _heads(self, states: Tensor, count: int) -> Tensor:
        """(N, Q, parts · W) as (parts, N, heads, Q, W / heads), in one copy."""
        by_head = states.view(*states.shape[:2], count, self.heads, self.width // self.heads)
        return by_head.permute(2, 0, 3, 1, 4).contiguous()

    def _finish(self, states: Tensor, mixed: Tensor) -> Tensor:
        states = self.mix(mixed, states)
        result: Tensor = self.narrow(functional.gelu(self.wide(states)), states)
        return result
