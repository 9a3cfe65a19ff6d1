"""ColBERT in the files of Stanford, PyLate and MultiVectorEncoder: a vector for each token, compared by MaxSim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpir.models.families.multi_vector._settings import is_multi_vector
from mpir.models.recognition.model_family import ModelFamily


def _load(name: str, options: Mapping[str, Any], loading: Any) -> Any:
    """Make the perspective of a bundle's entry."""
    from mpir.models.families.multi_vector._perspective import load_multi_vector

    return load_multi_vector(name, options, loading)


FAMILY = ModelFamily(
    name="ColBERT (Stanford's, PyLate's, MultiVectorEncoder's)",
    task="reranking",
    perspective_type="multi-vector",
    matches=is_multi_vector,
    options=lambda _: {"scale": "logit"},  # the sum of similarities; the files have the rest
    load=_load,
)
