"""What a checkpoint's files say of it: how many outputs it has, how much it reads, and what its outputs depend on.

Reading them imports neither torch nor transformers, a second each, so a run whose scores are all in the cache needs
neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpir.errors import InputError
from mpir.io.read import read_json
from mpir.models.identity import identity_of
from mpir.models.model_files import MODULES
from mpir.models.options import FORMATS, batch_size

PLAIN_TYPES = {"bert", "distilbert", "electra", "mpir-tk"}
"""Types of models that read as many tokens as their configuration has positions."""
PADDED_POSITIONS = {"camembert", "data2vec-text", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl"}
"""Types of models that count positions from the number of their padding token on, and so read fewer tokens."""
UNNAMED = range(2)
"""What transformers takes for the outputs of a model that names none, as one that makes vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointInfo:
    """A checkpoint as it is read.

    Attributes:
        checkpoint: a folder or a hub name.
        revision: a branch, tag or commit of the hub's repository.
        outputs_count: how many raw outputs (K) it has for a pair.
        max_length: the most tokens of a pair.
        precision: the name of torch's number format.
        reading: what else its outputs depend on: layers behind the encoder, and how longer texts are read.
    """

    checkpoint: str
    revision: str | None
    outputs_count: int
    max_length: int
    precision: str
    reading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> dict[str, Any]:
        """What the outputs depend on: the weights, the length and the precision."""
        return {**identity_of(self.checkpoint, self.revision, self.max_length, self.precision), **self.reading}


def read_checkpoint_info(checkpoint: str, options: Mapping[str, Any]) -> CheckpointInfo | None:
    """Return what the files of a folder say, with an `Encoder`'s options; None where they don't say all.

    Raises:
        InputError: a batch budget too small for a pair.
    """
    folder = Path(checkpoint)
    try:
        config, tokenizer = read_json(folder / "config.json"), read_json(folder / "tokenizer_config.json")
        longest = min(int(config["max_position_embeddings"]), int(tokenizer["model_max_length"]))
        outputs_count, precision = len(config.get("id2label", UNNAMED)), FORMATS[options["precision"]]
        is_plain = config.get("model_type") in PLAIN_TYPES
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
        reading=over_length_identity(options["over_length"]),
    )


def over_length_identity(over_length: str) -> dict[str, str]:
    """What outputs depend on by how longer texts are read: nothing for the usual way, in passages."""
    return {"over_length": over_length} if over_length == "truncate" else {}


def positions_of(config: Any) -> int:
    """How many tokens a model reads, by its configuration."""
    positions = int(getattr(config, "max_position_embeddings", None) or 512)
    return positions - config.pad_token_id - 1 if config.model_type in PADDED_POSITIONS else positions
