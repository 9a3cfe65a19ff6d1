"""Listwise rerankers: language models that read a query with a list of documents and order it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpir.models.checkpoint_files.model_files import ModelFiles
from mpir.models.families.listwise._prompt import listwise_template_of, listwise_templates
from mpir.models.recognition.model_family import ModelFamily

JINA = "JinaForRanking"
"""The architecture of jina-reranker-v3."""


def _matches(files: ModelFiles) -> bool:
    """Whether a model orders a list of documents, by its architecture or its hub name."""
    return files.architecture == JINA or listwise_template_of(files.name) is not None


def _options(files: ModelFiles) -> dict[str, Any]:
    """Return the only option of a listwise reranker, its template."""
    return {"template": listwise_template_of(files.name) or "jina-reranker-v3"}


def _load(name: str, options: Mapping[str, Any], loading: Any) -> Any:
    """Make the perspective of a bundle's entry."""
    from mpir.models.families.listwise._perspective import load_listwise

    return load_listwise(name, options, loading)


FAMILY = ModelFamily(
    name="listwise reranker (jina-reranker-v3, RankZephyr)",
    task="reranking",
    perspective_type="listwise",
    matches=_matches,
    options=_options,
    precedence=1,
    levels=("document",),
    templates=lambda: tuple(listwise_templates()),
    load=_load,
)
