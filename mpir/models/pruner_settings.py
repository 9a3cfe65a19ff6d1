"""Recognise a reranker that prunes, by its configuration in OpenProvence's form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_pruner(config: Mapping[str, Any]) -> bool:
    """Whether a configuration holds that of a classifier, and settings of a layer that keeps or removes tokens."""
    return all(isinstance(config.get(key), dict) for key in ("base_model_config", "pruning_config"))
