"""Open an embedding model by name, to make the vectors of an index without a bundle."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from mpir.errors import InputError, format_names, format_value
from mpir.models.embedding_settings import OPTIONS, read_embedding_settings
from mpir.models.encoder import Encoder
from mpir.models.hub import find_model
from mpir.models.known_models import known_settings, warn_of_missing_prompts
from mpir.models.model_family import recognise
from mpir.models.model_files import read_model_files
from mpir.models.sentence_encoder import PooledEncoder

log = logging.getLogger(__name__)


def open_embedding_model(
    name: str,
    options: Mapping[str, Any] | None = None,
    *,
    revision: str | None = None,
    trust_remote_code: bool = False,
    fetch: bool = True,
    device: str = "auto",
    precision: str = "auto",
) -> PooledEncoder:
    """Open an embedding model by folder or hub name, with the pooling and prompts that its files declare.

    Args:
        name: a folder or a hub name.
        options: overrides for the files' declarations, by the names in OPTIONS.
        revision: a branch, tag or commit of the hub's repository.
        trust_remote_code: whether the model's own Python code may run.
        fetch: whether to ask a hub (see `find_model`).
        device: see `Encoder`.
        precision: see `Encoder`.

    Raises:
        ArtefactError: no such model, or one that cannot be loaded.
        InputError: a reranker, or an invalid option.
    """
    chosen = dict(options or {})
    if unknown := sorted(set(chosen) - {*OPTIONS, "over_length"}):
        raise InputError(
            f"{name}: unknown option {format_value(unknown[0])}; expected one of "
            f"{format_names((*OPTIONS, 'over_length'))}."
        )
    snapshot = find_model(name, revision, with_code=trust_remote_code, fetch=fetch)
    files = read_model_files(snapshot.folder, name, revision=snapshot.revision)
    recognise(files, "embedding")
    settings = read_embedding_settings(files, chosen)
    if not files.modules and not {"pooling"} & ({*chosen} | {*known_settings(files)}):
        log.warning("%s declares no pooling; the mean of its tokens is used", name)
    warn_of_missing_prompts(files, chosen)
    loading: dict[str, Any] = {
        "device": device,
        "precision": precision,
        "max_length": settings.max_length,
        "trust_remote_code": trust_remote_code,
        "over_length": chosen.get("over_length", "passages"),
    }
    query = None
    if settings.query_encoder is not None:
        query = find_model(settings.query_encoder, with_code=trust_remote_code, fetch=fetch)
    return PooledEncoder(
        Encoder(str(files.transformer_folder), **loading),
        settings.pooling,
        prompts=settings.prompts,
        includes_prompt=settings.includes_prompt,
        query_encoder=None if query is None else Encoder(str(query.folder), **loading),
    )
