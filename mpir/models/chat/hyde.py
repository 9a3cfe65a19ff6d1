"""Hypothetical documents: a chat model writes an answer to a query, whose vector is averaged with the query's.

Gao et al., "Precise Zero-Shot Dense Retrieval without Relevance Labels" (2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from mpir.errors import EndpointError, format_value
from mpir.models.chat.chat_endpoint import ChatEndpoint
from mpir.types import F32, I64

PROMPT = (
    "Write a passage of an abstract in PubMed that answers this question. Write the passage only.\n\nQuestion: {query}"
)
MAX_TOKENS, CONCURRENCY = 256, 8


class QueryEncoder(Protocol):
    """An encoder of documents and queries, such as `PooledEncoder`."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that its vectors depend on."""

    def vectors(self, texts: Sequence[str]) -> tuple[F32, I64]:
        """Vectors (R, W) of documents, and the text (R,) of each."""

    def query_vectors(self, texts: Sequence[str]) -> tuple[F32, I64]:
        """Vectors (R, W) of queries, and the text (R,) of each."""


class HydeEncoder:
    """An encoder that reads documents as another one does, and queries together with a passage written for them."""

    def __init__(self, encoder: QueryEncoder, endpoint: ChatEndpoint) -> None:
        """Ask the chat model of an endpoint for a passage of each query."""
        self.encoder, self.endpoint = encoder, endpoint

    @property
    def identity(self) -> Mapping[str, Any]:
        """The encoder's identity, because the vectors of documents are the same."""
        return self.encoder.identity

    def vectors(self, texts: Sequence[str]) -> tuple[F32, I64]:
        """Return the encoder's vectors of documents."""
        return self.encoder.vectors(texts)

    def query_vectors(self, texts: Sequence[str]) -> tuple[F32, I64]:
        """Return a vector (N, W) of each of N queries: the mean of its own and its passage's, as long as its own.

        Raises:
            EndpointError: the chat model cannot be reached, or writes nothing.
        """
        with ThreadPoolExecutor(CONCURRENCY) as pool:
            passages = list(pool.map(self._passage, texts))
        queries = _means(*self.encoder.query_vectors(texts), len(texts))
        means = (queries + _means(*self.encoder.vectors(passages), len(texts))) / 2
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        scaled = means * np.linalg.norm(queries, axis=1, keepdims=True) / np.where(lengths > 0, lengths, 1)
        return scaled.astype(np.float32), np.arange(len(texts))

    def _passage(self, query: str) -> str:
        messages = [{"role": "user", "content": PROMPT.format(query=query)}]
        passage = self.endpoint.complete(messages, max_tokens=MAX_TOKENS, logprobs=False).text.strip()
        if not any(map(str.isalnum, passage)):
            raise EndpointError(
                f"{self.endpoint.url}: wrote {format_value(passage)} for the query {format_value(query)} (expected a "
                "passage). Choose another model, or leave llm.hyde out."
            )
        return passage


def _means(vectors: F32, text_of: I64, count: int) -> F32:
    """Return the mean (N, W) of each text's vectors (R, W)."""
    sums = np.zeros((count, vectors.shape[1]), np.float32)
    np.add.at(sums, text_of, vectors)
    return sums / np.maximum(np.bincount(text_of, minlength=count), 1)[:, None].astype(np.float32)
