"""Exits of a checkpoint in training: heads after some layers, beside transformers' classifier."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import nn

from mpir.errors import InputError, format_value
from mpir.files.read import read_json
from mpir.models.bert.exits import check_heads, read_exits

PREFIX = "exits."
WEIGHTS = "model.safetensors"


def add_exits(model: Any, layers: Sequence[int], names: Sequence[str]) -> None:
    """Give a BERT classifier heads after these layers, as copies of its own, and its outputs their names.

    Raises:
        InputError: the model is no BERT classifier, or has no such layers.
    """
    if not hasattr(model, "bert") or not hasattr(model, "classifier"):
        raise InputError(f"exits: {type(model).__name__} has no place for them; give a checkpoint of BERT.")
    count = model.config.num_hidden_layers
    if not all(0 < layer < count for layer in layers):
        raise InputError(
            f"exits: invalid layers (got {format_value(list(layers))}, expected numbers from 1 to {count - 1}). "
            "Correct the mixture."
        )
    head = nn.ModuleDict({"dense": model.bert.pooler.dense, "classifier": model.classifier})
    model.exits = nn.ModuleDict({str(layer): deepcopy(head) for layer in sorted(layers)})
    model.config.exits = sorted(layers)
    model.config.id2label = dict(enumerate(names))
    model.config.label2id = {name: number for number, name in enumerate(names)}


def restore_exits(model: Any, checkpoint: str | Path) -> None:
    """Give a model that transformers has loaded the exits of its checkpoint, which transformers leaves out.

    A model without a classifier, or with one of another number of outputs, keeps none, as it keeps no head.

    Raises:
        ArtefactError: the heads do not fit the exits.
    """
    declared = read_json(config) if (config := Path(checkpoint) / "config.json").is_file() else {}
    exits = read_exits(declared, checkpoint) if declared.get("exits") else ()
    if not exits:
        return
    weights, names = load_file(Path(checkpoint) / WEIGHTS), list(declared["id2label"].values())
    check_heads(weights, exits, checkpoint)
    if not hasattr(model, "classifier") or model.config.num_labels != len(names):
        model.config.exits = []
        return
    add_exits(model, exits, names)
    heads = {name.removeprefix(PREFIX): value for name, value in weights.items() if name.startswith(PREFIX)}
    model.exits.load_state_dict({name: value.to(model.dtype) for name, value in heads.items()})


def drop_exits(model: Any) -> None:
    """Remove a model's exits, which belong to layers that have gone."""
    if getattr(model.config, "exits", None):
        del model.exits
        model.config.exits = []
