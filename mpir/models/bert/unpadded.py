"""Choose the forward pass without padding for a model: BERT's, one that reads a relative as a BERT, or ModernBERT's."""

from __future__ import annotations

from typing import Any

from mpir.models.bert import modernbert
from mpir.models.bert.adapters import ADAPTERS
from mpir.models.bert.base import OwnPass, UnpaddedModel
from mpir.models.bert.bert import CLASSIFIER, SUPPORTED, Bert, UnpaddedBert


def can_unpad(model: Any) -> bool:
    """Whether `unpad` has something that can stand in for the model's own forward pass."""
    class_name = type(model).__name__
    if isinstance(model, OwnPass):
        return model.can_unpad()
    if class_name == modernbert.CLASSIFIER:
        return modernbert.can_unpad(model.config)
    if class_name in ADAPTERS:
        return ADAPTERS[class_name].can_unpad(model.config)
    if not isinstance(model, Bert) and class_name != CLASSIFIER:
        return False
    return all(getattr(model.config, name, value) == value for name, value in SUPPORTED.items())


def unpad(model: Any, *, trains: bool = False) -> UnpaddedModel:
    """The forward pass without padding of a model for which `can_unpad` holds; `trains` as for `UnpaddedBert`."""
    if isinstance(model, OwnPass):
        return model.unpad()
    if type(model).__name__ == modernbert.CLASSIFIER:
        return modernbert.UnpaddedModernBert(model)
    adapter = ADAPTERS.get(type(model).__name__)
    return UnpaddedBert(model if adapter is None else adapter.as_bert(model), trains=trains)
