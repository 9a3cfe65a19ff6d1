"""Information from a checkpoint's files: its number of outputs, its maximum length, and its identity.

Reading them imports neither torch nor transformers, which take a second each, so a run whose scores are all cached
needs neither.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpir.errors import InputError
from mpir.files.read import read_json
from mpir.models.checkpoint_files.identity import identity_of
from mpir.models.checkpoint_files.model_files import MODULES
from mpir.models.options import FORMATS, batch_size
from mpir.models.recognition.recognise import families

PLAIN_TYPES = {"bert", "distilbert", "electra"}
"""Model types that read as many tokens as their configuration has positions."""
PADDED_POSITIONS = {"camembert", "data2vec-text", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl"}
"""Model types whose positions start after the padding token's id, so that they read fewer tokens."""
UNLIMITED, DEFAULT_LENGTH = 10**7, 512
"""A tokenizer's limit above which it declares none, and the limit of a model that declares none at all."""
UNNAMED = range(2)
"""transformers' default number of outputs for a model that declares none, such as an embedding model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointInfo:
    """The properties of a checkpoint and how it is read.

    Attributes:
        checkpoint: a folder or a hub name.
        revision: a branch, tag or commit of the hub's repository.
        outputs_count: the number of raw outputs (K) for a pair.
        max_length: the most tokens in a pair.
        precision: the name of torch's number format.
        labels: the names of the outputs, where the configuration has any.
        exits: the numbers of layers after which a reading of documents may end (bert/exits.py).
        reading: other factors of its outputs: layers after the encoder, and how longer texts are read.
    """

    checkpoint: str
    revision: str | None
    outputs_count: int
    max_length: int
    precision: str
    reading: Mapping[str, Any] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    exits: tuple[int, ...] = ()

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that the outputs depend on: weights, length and precision."""
        return {**identity_of(self.checkpoint, self.revision, self.max_length, self.precision), **self.reading}


def read_checkpoint_info(checkpoint: str, options: Mapping[str, Any]) -> CheckpointInfo | None:
    """Return the information in a folder's files, with an `Encoder`'s options; None if it is incomplete.

    Raises:
        InputError: a batch budget too small for a pair.
    """
    folder = Path(checkpoint)
    try:
        config, tokenizer = read_json(folder / "config.json"), read_json(folder / "tokenizer_config.json")
        longest = min(int(config["max_position_embeddings"]), int(tokenizer["model_max_length"]))
        outputs_count, precision = len(config.get("id2label", UNNAMED)), FORMATS[options["precision"]]
        is_plain = config.get("model_type") in PLAIN_TYPES or config.get("model_type") in _added_types()
    except (InputError, KeyError, OverflowError, TypeError, ValueError):
        return None
    has_files = (folder / "model.safetensors").is_file() and (folder / "tokenizer.json").is_file()
    if not is_plain or not has_files or (folder / MODULES).is_file():
        return None
    max_length = min(options["max_length"] or longest, longest)
    if options["tokens_per_batch"] is not None:
        batch_size(options["tokens_per_batch"], max_length)
    return CheckpointInfo(
        checkpoint=checkpoint,
        revision=options["revision"],
        outputs_count=outputs_count,
        max_length=max_length,
        precision=precision,
        reading=over_length_identity(options["over_length"], tokenizer.get("truncation_side")),
        **names_and_exits(config),
    )


def _added_types() -> set[str]:
    """Return the model types that families add."""
    return {name for family in families() for name in family.model_types}


def names_and_exits(config: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return the `labels` and `exits` of a configuration, where it has them in the usual form."""
    labels, exits = config.get("id2label"), config.get("exits")
    return {
        "labels": tuple(labels.values()) if isinstance(labels, Mapping) else (),
        "exits": tuple(exits) if isinstance(exits, list) else (),
    }


def over_length_identity(over_length: str, truncation_side: str | None) -> dict[str, str]:
    """The identity's entries for how longer texts are read; empty for the default, passages."""
    if over_length != "truncate":
        return {}
    return {"over_length": over_length} | ({"truncation_side": "left"} if truncation_side == "left" else {})


def longest_input(config: Any, model_max_length: float, max_length: int | None) -> int:
    """The most tokens that a model reads: `max_length`, by default what configuration and tokenizer allow, or 512."""
    limit = min(positions_of(config), model_max_length)
    return int(min(max_length or (limit if limit <= UNLIMITED else DEFAULT_LENGTH), limit))


def positions_of(config: Any) -> float:
    """The number of tokens that a model can read, from its configuration; infinite without position embeddings."""
    positions = getattr(config, "max_position_embeddings", None)
    if not isinstance(positions, int) or positions <= 0:
        return math.inf
    return positions - config.pad_token_id - 1 if config.model_type in PADDED_POSITIONS else positions
