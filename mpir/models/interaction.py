"""How the token vectors of two texts are compared. There is no padding, so none can change a score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import torch
from torch import Tensor

PRODUCTS = 2**22
"""Products of two tokens that are in memory at once: 16 MiB of them, and eleven times that for TK."""


class Interaction(Protocol):
    """What tokens of questions find in documents; the score of a document is the sum of a question's tokens."""

    def __call__(self, tokens: Tensor, documents: Tensor, lengths: Tensor) -> Tensor:
        """What N tokens (N, W) find in D documents: (D, N).

        The documents' token vectors (T, W) come one after the other, each so long (D,).
        """


def maxsim(tokens: Tensor, documents: Tensor, lengths: Tensor) -> Tensor:
    """The best product with a token of each document: max_j q_i·d_j, (D, N). See `Interaction`."""
    products = documents.float() @ tokens.float().T
    return torch.stack([product.amax(dim=0) for product in torch.split(products, lengths.tolist())])


def scores(interaction: Interaction, questions: Sequence[Tensor], documents: Tensor, lengths: Tensor) -> Tensor:
    """Scores (Q, D) of documents for questions (N, W) each, as many of which are compared at once as there is room."""
    columns = [
        tokens.sum(dim=1)
        for query_batch in _query_batches(questions, len(documents))
        for tokens in torch.split(
            interaction(torch.cat(query_batch), documents, lengths), [len(tokens) for tokens in query_batch], dim=1
        )
    ]
    return torch.stack(columns)


def _query_batches(questions: Sequence[Tensor], tokens: int) -> Iterator[list[Tensor]]:
    """Questions in parts that make no more than PRODUCTS with so many tokens, but for a single one."""
    batch: list[Tensor] = []
    for query in questions:
        if batch and (sum(map(len, batch)) + len(query)) * tokens > PRODUCTS:
            yield batch
            batch = []
        batch.append(query)
    if batch:
        yield batch
