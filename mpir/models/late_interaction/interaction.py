"""Compare the token vectors of two texts, without padding that could change a score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import torch
from torch import Tensor

PRODUCTS = 2**22
"""Token products in memory at once: 16 MiB of them, and eleven times that for TK."""


class Interaction(Protocol):
    """Scores query tokens against documents; a document's score is the sum over a query's tokens."""

    def __call__(self, tokens: Tensor, documents: Tensor, lengths: Tensor) -> Tensor:
        """The scores (D, N) of N tokens (N, W) in D documents.

        The documents' token vectors (T, W) are concatenated; `lengths` (D,) are their numbers of tokens.
        """


def maxsim(tokens: Tensor, documents: Tensor, lengths: Tensor) -> Tensor:
    """The best product with a token of each document: max_j q_i·d_j, (D, N). See `Interaction`."""
    products = documents.float() @ tokens.float().T
    return torch.stack([product.amax(dim=0) for product in torch.split(products, lengths.tolist())])


def scores(interaction: Interaction, queries: Sequence[Tensor], documents: Tensor, lengths: Tensor) -> Tensor:
    """Scores (Q, D) of documents for queries of (N, W) tokens each; as many are compared at once as memory allows."""
    columns = [
        tokens.sum(dim=1)
        for query_batch in _query_batches(queries, len(documents))
        for tokens in torch.split(
            interaction(torch.cat(query_batch), documents, lengths), [len(tokens) for tokens in query_batch], dim=1
        )
    ]
    return torch.stack(columns)


def _query_batches(queries: Sequence[Tensor], tokens: int) -> Iterator[list[Tensor]]:
    """Yield batches of queries with at most PRODUCTS token products, or a single larger query."""
    batch: list[Tensor] = []
    for query in queries:
        if batch and (sum(map(len, batch)) + len(query)) * tokens > PRODUCTS:
            yield batch
            batch = []
        batch.append(query)
    if batch:
        yield batch
