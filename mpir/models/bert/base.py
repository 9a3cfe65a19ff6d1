"""Forward passes without padding: a batch of sequences in one matrix, and the interface of the models that read it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from mpir.errors import ArtefactError
from mpir.models.bert.exits import StateCache
from mpir.models.tokens.tokenise import TokenSequence
from mpir.models.vectors.embedding import MEAN, Pooling
from mpir.types import I64, Bool

ROWS = 64
"""The number of tokens is rounded up to a multiple of this, because oneDNN keeps a kernel for every shape."""
LONG = 128
"""If the longest sequence has this many tokens or more, a CPU attends to one sequence at a time: the scores of all
sequences would outgrow its caches, and the C library would request the memory from the system again and again."""
STEPS = 8
"""Attention's two other dimensions are rounded up to this many sizes per power of two, for the same reason."""


def filled(count: int) -> int:
    """A count, rounded up to one of STEPS sizes between two powers of two."""
    step = 1 << max(0, count.bit_length() - STEPS.bit_length())
    return -(-count // step) * step


class Batch:
    """The layout of sequences in a matrix of T rows: their tokens, and fewer than ROWS unused rows.

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
        self.count, self.longest = filled(len(sizes)), filled(max(sizes))
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
        nowhere = ~inside & (lengths > 0)[:, None]  # attention without any visible token would be NaN
        if hidden is not None:
            nowhere[inside] = torch.from_numpy(hidden)
        self.outside = torch.zeros(inside.shape).masked_fill(nowhere, -torch.inf)[:, None, None, :].to(device)
        self.bias = None if bias is None else bias(self.longest)
        self._added: Tensor | None = None

    def pad(self, states: Tensor) -> Tensor:
        """(T, W) as (N, longest, W): a view if all lengths are equal, else a copy with zeros after each sequence."""
        width, states = states.shape[1], states[: self.tokens]
        if not self.even:
            empty = states.new_zeros(self.count * self.longest, width)
            states = empty.index_copy_(0, self.places[: self.tokens], states)
        return states.view(self.count, self.longest, width)

    def unpad(self, states: Tensor) -> Tensor:
        """(N, longest, W) as (T, W)."""
        return states.flatten(0, 1).index_select(0, self.places)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attention inside each sequence, per head: (N, H, Q, w) from (N, H, Q, w) and twice (N, H, longest, w)."""
        added = self._added_to(query)
        return attention(query, key, value, None if added is None else added[:, :, : query.shape[2]])

    def _added_to(self, query: Tensor) -> Tensor | None:
        """The term added to scores: the bias, and minus infinity for hidden positions. Cached."""
        if self._added is None:
            for bias in (None if self.even else self.outside, self.bias):
                if bias is not None:
                    added = bias.to(query.dtype)
                    self._added = added if self._added is None else self._added + added
        return self._added

    def attend_all(self, joined: Tensor, heads: int) -> Tensor:
        """Attention inside each sequence: the output (T, W) of all tokens from queries, keys and values (T, 3 W)."""
        if self.apart:
            return self.attend_apart(joined, heads)
        query, key, value = by_head(self.pad(joined), 3, heads)
        return self.unpad(attention(query, key, value, self._added_to(query)).transpose(1, 2).flatten(2))

    def with_bias(self, bias: Callable[[int], Tensor]) -> Batch:
        """The same sequences with another bias."""
        batch = copy(self)
        batch.bias, batch._added = bias(self.longest), None
        return batch

    def attend_apart(self, states: Tensor, heads: int) -> Tensor:
        """Attention for one sequence at a time: (T, W) from queries, keys and values (T, 3 W)."""
        by_size = torch.split(states.view(len(states), 3, heads, -1), [*self.sizes, len(states) - self.tokens])
        sequences = (sequence.permute(1, 2, 0, 3)[:, None] for sequence in by_size[:-1])
        mixed = [attention(query, key, value, self._bias_among(query)) for query, key, value in sequences]
        filling = states.new_zeros(len(by_size[-1]), states.shape[1] // 3)
        return torch.cat([*(sequence[0].transpose(0, 1).flatten(1) for sequence in mixed), filling])

    def _bias_among(self, query: Tensor) -> Tensor | None:
        """The bias (1, H, n, n) for the n tokens of one sequence."""
        count = query.shape[2]
        return None if self.bias is None else self.bias[:, :, :count, :count].to(query.dtype)


def by_head(states: Tensor, matrices: int, heads: int) -> Tensor:
    """(N, Q, matrices · W) as (matrices, N, heads, Q, W / heads), in one copy."""
    split = states.view(*states.shape[:2], matrices, heads, states.shape[2] // (matrices * heads))
    return split.permute(2, 0, 3, 1, 4).contiguous()


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """The attention output for queries (N, H, Q, w) over values (N, H, L, w)."""
    in_fp32 = query.dtype == torch.float32 and query.shape[2] >= LONG
    if query.device.type != "cpu" or in_fp32:
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=1.0)
    # On a CPU, two plain products are faster than the fused kernel for sentences and in bfloat16.
    scores = query @ key.transpose(2, 3)
    return torch.softmax(scores if mask is None else scores + mask, dim=-1) @ value


class OwnPass(ABC):
    """A model of a family that brings a pass without padding of its own."""

    @abstractmethod
    def can_unpad(self) -> bool:
        """Whether this model's settings have one."""

    @abstractmethod
    def unpad(self) -> UnpaddedModel:
        """The pass, if `can_unpad`."""


def no_sentence_outputs(model: Any) -> ArtefactError:
    """The error for a model that cannot read documents with their sentences."""
    return ArtefactError(
        f"a model of the type {type(model).__name__} cannot read documents sentence by sentence; give a classifier "
        "over BERT, MPNet, RoBERTa, XLM-R or DistilBERT."
    )


class UnpaddedModel(ABC):
    """The forward pass of one sequence-classification model, on its device, in its precision.

    `classifier` is the model's last layer. `bias` (1, H, L, L) of a length is added to attention's scores, None for no
    bias.
    """

    classifier: Any
    bias: Callable[[int], Tensor] | None = None

    @abstractmethod
    def __call__(self, sequences: Sequence[TokenSequence]) -> Tensor:
        """Raw outputs (N, K) of N token sequences."""

    def sentence_outputs(
        self,
        sequences: Sequence[TokenSequence],
        lengths: I64,
        is_read: Bool,
        *,
        depth: int | None = None,
        state_cache: StateCache | None = None,
    ) -> Tensor:
        """Raw outputs (R, K) of documents and their sentences.

        Args:
            sequences: N sequences.
            lengths: the lengths of the consecutive pieces of all sequences, the first of each being its first token.
            is_read: which pieces are read: each sequence's first token, then its sentences.
            depth: the number of layers after which a model with exits is read (bert/exits.py), by default all.
            state_cache: the states from which a deeper reading goes on.

        Raises:
            ArtefactError: a model without a pooled classifier.
        """
        raise no_sentence_outputs(self)

    @abstractmethod
    def _states(self, sequences: Sequence[TokenSequence], batch: Batch) -> Tensor:
        """The last states (T, W) of all rows of a batch."""

    @abstractmethod
    def states_and_outputs(self, sequences: Sequence[TokenSequence]) -> tuple[Tensor, Tensor]:
        """The states (T, W) that the last layer gives for all tokens, before a last norm, and raw outputs (N, K)."""

    def vectors(self, sequences: Sequence[TokenSequence], pooling: Pooling = MEAN) -> Tensor:
        """Pooled vectors (N, W) of each sequence's last states, in single precision."""
        batch = self._batch(sequences)
        states, count = self._states(sequences, batch), len(sequences)
        return pooling(batch.pad(states)[:count], batch.inside[:count])

    def states(self, sequences: Sequence[TokenSequence], unseen: int | None = None) -> Tensor:
        """The last states (T, W) of all tokens, sequence by sequence. No token attends to those with id `unseen`."""
        hidden = None if unseen is None else np.concatenate([tokens.ids for tokens in sequences]) == unseen
        batch = self._batch(sequences, hidden)
        return self._states(sequences, batch)[: batch.tokens]

    def _batch(self, sequences: Sequence[TokenSequence], hidden: Bool | None = None) -> Batch:
        return Batch([len(tokens.ids) for tokens in sequences], self.classifier.weight.device, hidden, self.bias)

    @staticmethod
    def _rows(sequences: Sequence[TokenSequence], batch: Batch) -> tuple[Tensor, Tensor]:
        """The ids and the types of tokens (T,), padded with zeros."""
        filling = np.zeros(len(batch.positions) - batch.tokens, np.int32)
        ids, types = (
            torch.from_numpy(np.concatenate([*arrays, filling])).to(batch.positions.device)
            for arrays in zip(*sequences, strict=True)
        )
        return ids, types
