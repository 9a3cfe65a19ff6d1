"""Rerankers that prune: a document's relevance and, from the same reading, which of its sentences to keep."""

from __future__ import annotations

from typing import Any

from mpir.models.declared_options import DEFAULT_LENGTH
from mpir.models.model_family import ModelFamily
from mpir.models.model_files import ModelFiles, is_pruner


def _options(files: ModelFiles) -> dict[str, Any]:
    """Return the options of a reranker that prunes: its outputs of documents and sentences, scale and length."""
    declared = files.config.get("max_length")
    length = declared if isinstance(declared, int) and declared > 0 else 512
    return {"output": 0, "sentence_output": 1, "scale": "probability", "max_length": min(length, DEFAULT_LENGTH)}


def _open_checkpoint(checkpoint: str) -> Any:
    """Return the pruner in a folder, or None for another model. Raises ArtefactError if it is damaged."""
    from mpir.models.pruner_checkpoint import open_pruner

    return open_pruner(checkpoint)


FAMILY = ModelFamily(
    name="reranker that prunes (OpenProvence, Semantic Highlight)",
    task="reranking",
    perspective_type="document-cross-encoder",
    matches=lambda files: is_pruner(files.config),
    options=_options,
    precedence=2,
    open_checkpoint=_open_checkpoint,
)
