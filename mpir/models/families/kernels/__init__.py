"""TK and Conv-KNRM, which compare word vectors by kernels; `mpir train` makes them (mpir/lab/train/tk_init.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpir.models.checkpoint_files.model_files import ModelFiles
from mpir.models.recognition.model_family import ModelFamily

TYPES = ("mpir-conv-knrm", "mpir-tk")


def _matches(files: ModelFiles) -> bool:
    """Whether a model is one of this family, by the type of its configuration."""
    return files.config.get("model_type") in TYPES


def _load(name: str, options: Mapping[str, Any], loading: Any) -> Any:
    """Make the perspective of a bundle's entry."""
    from mpir.models.families.kernels._perspective import load_tk

    return load_tk(name, options, loading)


def _register_types() -> None:
    """Let transformers know both types."""
    import mpir.models.families.kernels.conv_knrm  # noqa: F401


FAMILY = ModelFamily(
    name="TK and Conv-KNRM",
    task="reranking",
    perspective_type="tk",
    matches=_matches,
    options=lambda _: {},  # the configuration has the rest
    precedence=2,
    levels=("document",),  # a sum of logarithms has no bound, as a column of sentences must
    load=_load,
    model_types=TYPES,
    register_types=_register_types,
)
