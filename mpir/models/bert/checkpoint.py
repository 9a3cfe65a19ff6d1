"""Read a BERT checkpoint, with or without a classifier, using only torch, safetensors and tokenizers.

Unusual checkpoints are left to transformers, with which this module agrees bit by bit (tests/models/bert/test_bert.py).
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors.torch import load_file

from mpir.errors import ArtefactError, InputError
from mpir.files.read import read_json
from mpir.models.bert.bert import CLASSIFIER, SUPPORTED, Bert
from mpir.models.bert.exits import check_heads, read_exits
from mpir.models.bert.tokenizer import FastTokenizer, open_tokenizer
from mpir.models.checkpoint_files.checkpoint_checks import check_sizes, check_tensors

BARE = "BertModel"
SIZES = (
    *("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
    *("vocab_size", "type_vocab_size", "max_position_embeddings"),
)
"""Settings that a configuration must have, each above 0."""


class BertCheckpoint:
    """A folder with such a model: configuration and tokenizer, and the weights on request."""

    def __init__(self, folder: Path, config: dict[str, Any], tokenizer: FastTokenizer) -> None:
        self.folder, self.tokenizer, self.exits = folder, tokenizer, read_exits(config, folder)
        self.config = SimpleNamespace(**{**config, "num_labels": len(config.get("id2label", "12"))})
        self.bare = config["architectures"] == [BARE]

    def load(self) -> tuple[Bert, list[str]] | None:
        """The model in single precision, and its missing weights: a bare encoder lacks the classifier's, which are 0.

        None if other weights are missing.
        """
        try:
            check_tensors(self.folder, vars(self.config))
            weights = load_file(self.folder / "model.safetensors")
            if not all(value.is_floating_point() for value in weights.values()):
                return None
            with torch.device("meta"):
                model = Bert(self.config)
            check_heads(weights, self.exits, self.folder)
            if self.bare:
                weights = {f"bert.{name}": value for name, value in weights.items()}
            lacking = {
                name: torch.zeros(parameter.shape)
                for name, parameter in model.named_parameters()
                if "classifier" in name
            }
            added = lacking if self.bare else {}
            model.load_state_dict({name: value.float() for name, value in (weights | added).items()}, assign=True)
        except ArtefactError:
            raise
        except Exception:  # damaged files raise many kinds; transformers reports the reason
            return None
        return model.eval(), sorted(added)


def open_bert(checkpoint: str) -> BertCheckpoint | None:
    """The checkpoint in a folder, or None if this module does not support it."""
    folder = Path(checkpoint)
    try:
        config = read_json(folder / "config.json")
        usual = all(config.get(name, value) == value for name, value in SUPPORTED.items())
        usual = usual and config["type_vocab_size"] > 1  # a tokenizer that tells segments apart needs two
        labelled = config["architectures"] == [CLASSIFIER] and isinstance(config["id2label"], dict)
        named = labelled or config["architectures"] == [BARE]
        check_sizes(config, checkpoint)
        fits = all(config[name] for name in SIZES) and config["hidden_size"] % config["num_attention_heads"] == 0
    except (InputError, KeyError, TypeError, ValueError):
        return None
    if not (usual and named and fits and (folder / "model.safetensors").is_file()):
        return None
    tokenizer = open_tokenizer(folder)
    return None if tokenizer is None else BertCheckpoint(folder, config, tokenizer)
