"""The settings of an embedding model, from its files: pooling, layers, prompts, dimensions and length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mpir.errors import ArtefactError, format_names, format_value
from mpir.models.checkpoint_files.known_models import declared_prompts, known_settings
from mpir.models.checkpoint_files.model_files import ModelFiles
from mpir.models.vectors.embedding import MEAN, POOLINGS, Pooling, Prompts
from mpir.models.vectors.vector_head import read_head

ACTIVATION_KEYS = ("activation_fn", "sbert_ce_default_activation_function")
"""Keys under which sentence-transformers stores a CrossEncoder's activation, now and before version 4."""
OLD_POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "lasttoken",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}
OPTIONS = (
    *("pooling", "include_prompt", "similarity", "truncate_dim", "query_prompt", "document_prompt", "titles"),
    *("query_encoder", "max_length"),
)
"""Options by which a user or a bundle may override the files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSettings:
    """How texts become vectors.

    `query_encoder` names a separate model for queries, if there is one. `includes_prompt` tells whether the tokens of a
    prompt are pooled.
    """

    pooling: Pooling = MEAN
    prompts: Prompts = field(default_factory=Prompts)
    includes_prompt: bool = True
    max_length: int | None = None
    query_encoder: str | None = None


def read_embedding_settings(files: ModelFiles, options: Mapping[str, Any]) -> EmbeddingSettings:
    """Return a model's settings from `options`, else from its files, else with sentence-transformers' defaults.

    Raises:
        ArtefactError: the files declare something that mpir does not support.
        InputError: an invalid option.
    """
    declared = {**declared_prompts(files), **known_settings(files), **options}
    module = files.module("Pooling")
    return EmbeddingSettings(
        pooling=_pooling(files, declared),
        prompts=Prompts(
            declared.get("query_prompt", ""),
            declared.get("document_prompt", ""),
            lowercase=files.transformer.get("do_lower_case") is True,
            titles=declared.get("titles", "joined"),
        ),
        includes_prompt=declared.get("include_prompt", module is None or module.config.get("include_prompt", True)),
        max_length=declared.get("max_length", files.max_seq_length),
        query_encoder=declared.get("query_encoder"),
    )


def _pooling(files: ModelFiles, declared: Mapping[str, Any]) -> Pooling:
    module = files.module("Pooling")
    similarity = declared.get("similarity", declared_similarity(files))
    dimensions = declared.get("truncate_dim", files.sentence_transformers.get("truncate_dim"))
    if module is None:
        return Pooling(declared.get("pooling", MEAN.method), similarity, None, dimensions)
    behind = files.modules[files.modules.index(module) + 1 :]
    if behind and behind[-1].type == "Normalize" and dimensions is None:
        behind, similarity = behind[:-1], "cosine"
    method = declared.get("pooling", declared_pooling(files))
    return Pooling(method, similarity, read_head(files.folder, behind), dimensions)


def declared_pooling(files: ModelFiles) -> str:
    """Return the pooling that the files declare. Raises ArtefactError for an unsupported one."""
    module = files.module("Pooling")
    config = {} if module is None else module.config
    old = [name for key, name in OLD_POOLINGS.items() if config.get(key)]
    methods = config.get("pooling_mode", old or MEAN.method)
    methods = [methods] if isinstance(methods, str) else list(methods)
    path = f"{files.name}/{'' if module is None else module.path}/config.json"
    if len(methods) != 1 or methods[0] not in POOLINGS:
        raise ArtefactError(
            f"{path}: invalid pooling (got {format_names(methods)}, expected one of {format_names(POOLINGS)}). Give "
            "another model."
        )
    return str(methods[0])


def declared_similarity(files: ModelFiles) -> str:
    """Return how vectors are compared: ``cosine`` unless the files say ``dot``. Raises ArtefactError for others."""
    name = known_settings(files).get("similarity") or files.sentence_transformers.get("similarity_fn_name") or "cosine"
    if name not in ("cosine", "dot"):
        raise ArtefactError(
            f"{files.name}: invalid similarity_fn_name (got {format_value(name)}, expected cosine or dot). Give "
            "another model."
        )
    return str(name)
