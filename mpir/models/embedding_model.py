"""Embedding models: vectors of queries and documents by an encoder, its pooling and prompts; opened by name."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mpir.files.vector_blocks import Blocks
from mpir.models.checkpoint_files.hub import find_hub_model, find_model
from mpir.models.checkpoint_files.known_models import known_settings, warn_of_missing_prompts
from mpir.models.checkpoint_files.model_files import read_model_files
from mpir.models.encoder import Encoder
from mpir.models.recognition.recognise import recognise
from mpir.models.vectors.embedding import MEAN, Pooling, Prompts
from mpir.models.vectors.embedding_settings import read_embedding_settings
from mpir.types import F32, I64

log = logging.getLogger(__name__)
WITHOUT_PROMPT = {"include_prompt": False}
"""The identity's entry for vectors without a prompt's tokens."""


class PooledEncoder:
    """An encoder with its pooling and prompts; with a query encoder, a two-tower model such as MedCPT."""

    def __init__(
        self,
        encoder: Encoder,
        pooling: Pooling = MEAN,
        *,
        prompts: Prompts | None = None,
        includes_prompt: bool = True,
        query_encoder: Encoder | None = None,
    ) -> None:
        """Read documents with `encoder`, and queries with the same or with `query_encoder`.

        `includes_prompt` tells whether the tokens of a prompt are pooled.
        """
        self.encoder, self.pooling, self.query_encoder = encoder, pooling, query_encoder
        self.includes_prompt = includes_prompt
        self.prompts = Prompts() if prompts is None else prompts

    @property
    def is_symmetric(self) -> bool:
        """Whether a text has the same vector as a query and as a document."""
        has_same_prompts = self.prompts.query == self.prompts.document and self.prompts.titles == "joined"
        return self.query_encoder is None and has_same_prompts

    @property
    def identity(self) -> dict[str, Any]:
        """The encoder's identity, with any non-default pooling, prompts and query encoder."""
        return {**self.encoder.identity, **self.settings_identity}

    @property
    def settings_identity(self) -> Mapping[str, Any]:
        """Everything that vectors depend on besides the encoder."""
        names = ("checkpoint", "settings")
        query = {} if self.query_encoder is None else {name: self.query_encoder.identity.get(name) for name in names}
        reading = {**({"query_encoder": query} if query else {}), **({} if self.includes_prompt else WITHOUT_PROMPT)}
        return {**self.pooling.identity, **self.prompts.identity, **reading}

    def vectors(self, texts: Sequence[str], *, progress: bool = False) -> tuple[F32, I64]:
        """Vectors (R, W) of N documents or their passages, and the index (R,) of each one's document, ascending."""
        return self._vectors(self.encoder, self.prompts.document, texts, titles=self.prompts.titles, progress=progress)

    def resume_vectors(self, texts: Sequence[str], partial: Blocks) -> tuple[F32, I64]:
        """As `vectors`, without reading again the batches that an interrupted call has kept."""
        return self._vectors(self.encoder, self.prompts.document, texts, titles=self.prompts.titles, partial=partial)

    def query_vectors(self, texts: Sequence[str], *, progress: bool = False) -> tuple[F32, I64]:
        """Vectors (R, W) of N queries or their passages, and the index (R,) of each one's query, ascending."""
        return self._vectors(self.query_encoder or self.encoder, self.prompts.query, texts, progress=progress)

    def _vectors(self, encoder: Encoder, prompt: str, texts: Sequence[str], **options: Any) -> tuple[F32, I64]:
        prompt, *texts = self.prompts.cased([prompt, *texts])
        skipped = 0 if self.includes_prompt or not prompt else encoder.count_prompt_tokens(prompt)
        pooling = replace(self.pooling, skipped=skipped)
        return encoder.vectors(texts, pooling=pooling, prompt=prompt, **options)

    def close(self) -> None:
        """End the processes of the encoders' devices."""
        self.encoder.close()
        if self.query_encoder is not None:
            self.query_encoder.close()


def open_embedding_model(
    name: str, *, fetch: bool = True, device: str = "auto", precision: str = "auto"
) -> PooledEncoder:
    """Open an embedding model by folder or hub name, with the pooling and prompts that its files declare.

    Args:
        name: a folder or a hub name.
        fetch: whether to ask a hub (see `find_model`).
        device: see `Encoder`.
        precision: see `Encoder`.

    Raises:
        ArtefactError: no such model, or one that cannot be loaded.
        InputError: a reranker.
    """
    snapshot = find_model(name, fetch=fetch)
    files = read_model_files(snapshot.folder, name, revision=snapshot.revision)
    recognise(files, "embedding")
    settings = read_embedding_settings(files, {})
    if not files.modules and "pooling" not in known_settings(files):
        log.warning("%s declares no pooling; the mean of its tokens is used", name)
    warn_of_missing_prompts(files)
    loading: dict[str, Any] = {"device": device, "precision": precision, "max_length": settings.max_length}
    query = None if settings.query_encoder is None else find_hub_model(settings.query_encoder, fetch=fetch)
    return PooledEncoder(
        Encoder(str(files.transformer_folder), **loading),
        settings.pooling,
        prompts=settings.prompts,
        includes_prompt=settings.includes_prompt,
        query_encoder=None if query is None else Encoder(str(query.folder), **loading),
    )
