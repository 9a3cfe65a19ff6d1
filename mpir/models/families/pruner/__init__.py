"""Rerankers that prune: a document's relevance and, from the same reading, which of its sentences to keep."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mpir.errors import InputError
from mpir.files.read import read_json
from mpir.models.checkpoint_files.model_files import ModelFiles
from mpir.models.recognition.declared_options import DEFAULT_LENGTH
from mpir.models.recognition.model_family import ModelFamily


def _is_pruner(config: Mapping[str, Any]) -> bool:
    """Whether a configuration holds that of a classifier, and settings of a layer that keeps or removes tokens."""
    return all(isinstance(config.get(key), dict) for key in ("base_model_config", "pruning_config"))


def _options(files: ModelFiles) -> dict[str, Any]:
    """Return the options of a reranker that prunes: its outputs of documents and sentences, scale and length."""
    declared = files.config.get("max_length")
    length = declared if isinstance(declared, int) and declared > 0 else 512
    return {"output": 0, "sentence_output": 1, "scale": "probability", "max_length": min(length, DEFAULT_LENGTH)}


def _open_checkpoint(checkpoint: str) -> Any:
    """Return the pruner in a folder, or None for another model. Raises ArtefactError if it is damaged."""
    try:
        config = read_json(Path(checkpoint) / "config.json")
    except InputError:
        return None
    if not isinstance(config, dict) or not _is_pruner(config):
        return None
    from mpir.models.families.pruner._checkpoint import PrunerCheckpoint

    return PrunerCheckpoint(Path(checkpoint), config)


FAMILY = ModelFamily(
    name="reranker that prunes (OpenProvence, Semantic Highlight)",
    task="reranking",
    perspective_type="document-cross-encoder",
    matches=lambda files: _is_pruner(files.config),
    options=_options,
    precedence=2,
    open_checkpoint=_open_checkpoint,
)
