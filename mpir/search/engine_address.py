"""Addresses of indexes in search engines, such as ``opensearch+https://localhost:9200/pubmed``, and their classes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from mpir.plugins import FIRST_STAGES, load_plugin, plugins_of

if TYPE_CHECKING:
    from mpir.search.base import Retriever

_CLASSES = {
    "opensearch": ("mpir.search.engines.index", "EngineIndex"),
    "elasticsearch": ("mpir.search.engines.index", "EngineIndex"),
    "milvus": ("mpir.search.engines.milvus", "MilvusIndex"),
}


def is_engine(address: str | Path) -> bool:
    """Whether an index's name is the address of an index in an engine."""
    name, sign, url = str(address).partition("+")
    return bool(sign) and "://" in url and (name in _CLASSES or name in plugins_of(FIRST_STAGES))


def engine_class(address: str) -> Callable[..., Retriever]:
    """The class of the index at an address, mpir's own or of an installed package."""
    name = address.partition("+")[0]
    if name not in _CLASSES:
        engine: Callable[..., Retriever] = load_plugin(FIRST_STAGES, name)
        return engine
    module, class_name = _CLASSES[name]
    own: Callable[..., Retriever] = getattr(import_module(module), class_name)
    return own
