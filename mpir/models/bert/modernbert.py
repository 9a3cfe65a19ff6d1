"""ModernBERT without padding (Warner et al., "Smarter, Better, Faster, Longer", 2024).

It differs from BERT in more than names: norms stand before the blocks, positions are rotations of queries and keys, the
feed-forward block is gated, and in two of three layers a token sees only those near it. The modules are the model's
own, so gradients reach its parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mpir.models.bert.base import Batch, UnpaddedModel
from mpir.models.tokens.tokenise import TokenSequence

CLASSIFIER = "ModernBertForSequenceClassification"
FULL, NEAR = "full_attention", "sliding_attention"
UNSEEN = -1e9
"""Added to the score of a token that is too far away; finite, so that a row of only such tokens is not NaN."""


def can_unpad(config: Any) -> bool:
    """Whether the pass without padding supports a configuration."""
    parameters = config.rope_parameters
    known = all(parameters[kind] and parameters[kind]["rope_type"] == "default" for kind in set(config.layer_types))
    return known and set(config.layer_types) <= {FULL, NEAR} and config.classifier_pooling in ("cls", "mean")


class UnpaddedModernBert(UnpaddedModel):
    """The forward pass of one `ModernBertForSequenceClassification`, on its device, in its precision."""

    def __init__(self, model: Any) -> None:
        """Use the model's modules."""
        self.body, self.head, self.dropout, self.classifier = model.model, model.head, model.drop, model.classifier
        self.reads_first = model.config.classifier_pooling == "cls"
        self.window = model.config.sliding_window
        self.layers = [_Layer(layer, model.config.num_attention_heads) for layer in self.body.layers]

    def __call__(self, sequences: Sequence[TokenSequence]) -> Tensor:
        """Raw outputs (N, K) of N token sequences."""
        batch = self._batch(sequences)
        return self._outputs(self._states(sequences, batch), batch)[: len(sequences)]

    def states_and_outputs(self, sequences: Sequence[TokenSequence]) -> tuple[Tensor, Tensor]:
        """The states (T, W) of all tokens before the last norm, and raw outputs (N, K)."""
        batch = self._batch(sequences)
        states = self._layer_states(sequences, batch)
        return states[: batch.tokens], self._outputs(self.body.final_norm(states), batch)[: len(sequences)]

    def _outputs(self, states: Tensor, batch: Batch) -> Tensor:
        """Raw outputs (N, K) from the last states (T, W)."""
        pooled = states.index_select(0, batch.first) if self.reads_first else _mean(batch.pad(states), batch)
        logits: Tensor = self.classifier(self.dropout(self.head(pooled)))
        return logits

    def _states(self, sequences: Sequence[TokenSequence], batch: Batch) -> Tensor:
        normed: Tensor = self.body.final_norm(self._layer_states(sequences, batch))
        return normed

    def _layer_states(self, sequences: Sequence[TokenSequence], batch: Batch) -> Tensor:
        states = self.body.embeddings(self._rows(sequences, batch)[0])
        batches = {FULL: batch, NEAR: batch.with_bias(self._distant) if batch.longest > self.window + 1 else batch}
        turns = {kind: self._turns(states, batch, kind) for kind in {layer.kind for layer in self.layers}}
        for layer in self.layers:
            states = layer(states, batches[layer.kind], *turns[layer.kind])
        return states  # type: ignore[no-any-return]

    def _turns(self, states: Tensor, batch: Batch, kind: str) -> tuple[Tensor, Tensor]:
        """The cosines and sines (T, 1, w) that rotate queries and keys."""
        cosines, sines = self.body.rotary_emb(states, batch.positions[None], kind)
        return cosines[0][:, None], sines[0][:, None]

    def _distant(self, longest: int) -> Tensor:
        """The mask (1, 1, L, L) that hides tokens outside each token's window."""
        places = torch.arange(longest, device=self.classifier.weight.device)
        too_far = (places[:, None] - places[None]).abs() > self.window
        return torch.zeros(too_far.shape, device=places.device).masked_fill(too_far, UNSEEN)[None, None]


class _Layer:
    """One transformer layer."""

    def __init__(self, layer: Any, heads: int) -> None:
        self.layer, self.heads, self.kind = layer, heads, layer.attention_type

    def __call__(self, states: Tensor, batch: Batch, cosines: Tensor, sines: Tensor) -> Tensor:
        """The next states (T, W) of all tokens."""
        block = self.layer.attn
        query, key, value = block.Wqkv(self.layer.attn_norm(states)).view(len(states), 3, self.heads, -1).unbind(1)
        query = _turned(query, cosines, sines) * block.head_dim**-0.5
        joined = torch.stack((query, _turned(key, cosines, sines), value), dim=1).flatten(1)
        states = states + block.out_drop(block.Wo(batch.attend_all(joined, self.heads)))
        result: Tensor = states + self.layer.mlp(self.layer.mlp_norm(states))
        return result


def _turned(vectors: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Vectors (T, H, w), rotated by their positions in single precision."""
    exact = vectors.float()
    first, second = exact.chunk(2, dim=-1)
    return (exact * cosines + torch.cat((-second, first), dim=-1) * sines).to(vectors.dtype)


def _mean(states: Tensor, batch: Batch) -> Tensor:
    """The mean state (N, W) of each sequence."""
    sizes = batch.inside.sum(dim=1, keepdim=True).clamp(min=1)
    return (states * batch.inside[..., None]).sum(dim=1) / sizes
