"""Embedding models: one vector of each text, compared by cosine or product (models/perspectives/bi_encoder.py)."""

from __future__ import annotations

from typing import Any

from mpir.models.checkpoint_files.model_files import ModelFiles
from mpir.models.recognition.declared_options import ends_in_scores, wraps_model
from mpir.models.recognition.model_family import ModelFamily
from mpir.models.vectors.embedding_settings import read_embedding_settings


def _matches(files: ModelFiles) -> bool:
    """Whether a model makes one vector per text: it declares pooling, or is a bare transformer."""
    if files.modules:
        return files.module_types[:2] == ("Transformer", "Pooling") and not ends_in_scores(files)
    is_bare = files.architecture.endswith(("Model", "ForMaskedLM", "ForPreTraining"))
    return is_bare and not wraps_model(files)


def _options(files: ModelFiles) -> dict[str, Any]:
    """Return the only option of a bi-encoder, its scale; pooling and prompts are read from its files.

    The product of vectors that a last layer scales to length 1 is their cosine.
    """
    return {"scale": "logit" if read_embedding_settings(files, {}).pooling.similarity == "dot" else "cosine"}


FAMILY = ModelFamily(
    name="bi-encoder",
    task="embedding",
    perspective_type="bi-encoder",
    matches=_matches,
    options=_options,
)
