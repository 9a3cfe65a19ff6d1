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
    return torch.stack([one.amax(dim=0) for one in torch.split(products, lengths.tolist())])


def scores(interaction: Interaction, questions: Sequence[Tensor], documents: Tensor, lengths: Tensor) -> Tensor:
    """Scores (Q, D) of documents for questions (N, W) each, as many of which are compared at once as there is room."""
    found = [
        one.sum(dim=1)
        for part in _parts(questions, len(documents))
        for one in torch.split(interaction(torch.cat(part), documents, lengths), [len(one) for one in part], dim=1)
    ]
    return torch.stack(found)


def _parts(questions: Sequence[Tensor], tokens: int) -> Iterator[list[Tensor]]:
    """Questions in parts that make no more than PRODUCTS with so many tokens, but for a single one."""
    part: list[Tensor] = []
    for one in questions:
        if part and (sum(map(len, part)) + len(one)) * tokens > PRODUCTS:
            yield part
            part = []
        part.append(one)
    if part:
        yield part
