"""sentence-transformers' CrossEncoder as a chain of modules: a transformer, pooling, and layers up to a score."""

from __future__ import annotations

from pathlib import Path

from mpir.models.embedding_settings import declared_pooling
from mpir.models.model_family import is_module_chain
from mpir.models.model_files import MODULES, read_model_files
from mpir.models.pooling import Pooling
from mpir.models.vector_head import read_head


def read_score_layers(checkpoint: str) -> Pooling | None:
    """Return how a chain turns last states into scores, or None for a checkpoint with an ordinary classifier.

    Raises:
        ArtefactError: modules that mpir does not support.
    """
    folder = Path(checkpoint)
    if not (folder / MODULES).is_file():
        return None
    files = read_model_files(folder)
    if not is_module_chain(files):
        return None
    return Pooling(declared_pooling(files), "dot", read_head(folder, files.modules[2:]))
