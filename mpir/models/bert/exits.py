"""Exits: heads after some of a BERT's layers, so that a reading may end there, or go on for the best documents only.

A checkpoint with exits has the layers' numbers in its configuration ("exits": [2, 3]), and for each number N the
weights ``exits.N.dense`` and ``exits.N.classifier``, which are shaped as the model's own pooler and classifier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mpir.errors import ArtefactError, format_names, format_value
from mpir.models.tokens.tokenise import TokenSequence

LIMIT = 2**28
"""Bytes of kept states: about 600 abstracts of 300 tokens with 384 numbers in single precision."""
UNNAMED = "LABEL_"
"""The beginning of the names that transformers gives to outputs without one."""


def read_exits(config: Mapping[str, Any], checkpoint: str | Path) -> tuple[int, ...]:
    """Return the layers after which a configuration has exits, ascending; empty without exits.

    Raises:
        ArtefactError: they are not layers before the last one, or the outputs have no names.
    """
    exits, layers = config.get("exits", []), config["num_hidden_layers"]
    is_layer = isinstance(exits, list) and all(type(layer) is int and 0 < layer < layers for layer in exits)
    if not is_layer or sorted(set(exits)) != exits:
        raise ArtefactError(
            f"{checkpoint}/config.json: invalid exits (got {format_value(exits)}, expected ascending numbers of layers "
            f"from 1 to {layers - 1}). Restore the checkpoint."
        )
    labels = list((config.get("id2label") or {}).values())
    if exits and (not labels or len(set(labels)) < len(labels) or any(str(x).startswith(UNNAMED) for x in labels)):
        raise ArtefactError(
            f"{checkpoint}/config.json: invalid id2label (got {format_value(labels)}, expected a name for each output "
            "of a model with exits). Name the outputs."
        )
    return tuple(exits)


def check_heads(weights: Mapping[str, Tensor], exits: Sequence[int], checkpoint: str | Path) -> None:
    """Raise ArtefactError unless the weights have, for each exit, a head of the shapes of the last layer's."""
    parts = {"dense": "bert.pooler.dense", "classifier": "classifier"}
    expected = {
        f"exits.{layer}.{part}.{kind}": weights[f"{last}.{kind}"].shape
        for layer in exits
        for part, last in parts.items()
        for kind in ("weight", "bias")
    }
    exit_weights = {name: value.shape for name, value in weights.items() if name.startswith("exits.")}
    if wrong := sorted(
        name for name in expected.keys() | exit_weights.keys() if expected.get(name) != exit_weights.get(name)
    ):
        raise ArtefactError(
            f"{checkpoint}: heads do not fit the exits {list(exits)}: missing, unknown or of another shape are "
            f"{format_names(wrong, 3)}. Restore the checkpoint."
        )


class StateCache:
    """States of token sequences after a layer, for a deeper reading that goes on from there.

    It holds at most `limit` bytes; what is not kept is read again from the first layer. It belongs to one reading in
    one process: a copy in another process is empty.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.layer, self.limit, self._states = 0, LIMIT if limit is None else limit, dict[bytes, Tensor]()

    def __reduce__(self) -> tuple[type[StateCache], tuple[int]]:
        return StateCache, (self.limit,)

    def keep(self, layer: int, sequences: Sequence[TokenSequence], states: Tensor) -> None:
        """Keep the states (T, W) of all tokens of sequences after a layer, the same one for all."""
        self.layer = layer
        size = states.nbytes
        if size > self.limit:
            return
        self.limit -= size
        lengths = [len(tokens.ids) for tokens in sequences]
        for tokens, of_sequence in zip(sequences, torch.split(states, lengths), strict=True):
            self._states[tokens.ids.tobytes()] = of_sequence

    def find(self, sequences: Sequence[TokenSequence]) -> Tensor | None:
        """Return the states (T, W) of sequences, or None unless those of all are kept."""
        states = [self._states.get(tokens.ids.tobytes()) for tokens in sequences]
        known = [of_sequence for of_sequence in states if of_sequence is not None]
        return torch.cat(known) if known and len(known) == len(states) else None
