"""CrossEncoders of sentence-transformers that are a chain of modules: a transformer, pooling, and layers to a score."""

from __future__ import annotations

from typing import Any

from mpir.errors import ArtefactError, format_value
from mpir.models.checkpoint_files.model_files import ModelFiles
from mpir.models.recognition.declared_options import declared_scale, ends_in_scores, length_option, text_options
from mpir.models.recognition.model_family import ModelFamily
from mpir.models.vectors.embedding import Pooling
from mpir.models.vectors.embedding_settings import declared_pooling
from mpir.models.vectors.vector_head import read_head


def _matches(files: ModelFiles) -> bool:
    """Whether a model is a chain of a transformer, pooling and a score layer."""
    return files.module_types[:2] == ("Transformer", "Pooling") and ends_in_scores(files)


def _options(files: ModelFiles) -> dict[str, Any]:
    """Return the options of a chain of modules. Raises ArtefactError for a chain that ends in several scores."""
    outputs = next(module.config.get("out_features") for module in reversed(files.modules) if module.type == "Dense")
    if outputs != 1:
        raise ArtefactError(
            f"{files.name}: its last layer gives {format_value(outputs)} scores (expected 1). Give another model."
        )
    return {"output": 0, "scale": declared_scale(files), **text_options(files), **length_option(files)}


def _score_layers(files: ModelFiles) -> Pooling:
    """Return how last states become scores. Raises ArtefactError for modules that mpir does not support."""
    return Pooling(declared_pooling(files), "dot", read_head(files.folder, files.modules[2:]))


FAMILY = ModelFamily(
    name="sentence-transformers CrossEncoder with pooling and dense modules",
    task="reranking",
    perspective_type="cross-encoder",
    matches=_matches,
    options=_options,
    score_layers=_score_layers,
)
