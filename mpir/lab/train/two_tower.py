"""Compare separately encoded texts during training: by one vector each, or by their tokens' vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from mpir.lab.train.batch_layout import BatchLayout
from mpir.models.interaction import Interaction, scores


class Compared(Protocol):
    """The encoded questions and texts of N rows."""

    def pairs(self) -> Tensor:
        """Return scores (N,) of each row's question and text."""

    def products(self, layout: BatchLayout) -> Tensor:
        """Return the scores (Q, C) of every question with every candidate, in the layout of a batch."""


class ByVector(NamedTuple):
    """One vector (N, W) for each question and text, compared by the dot product."""

    left: Tensor
    right: Tensor

    def pairs(self) -> Tensor:
        """See `Compared`."""
        return (self.left * self.right).sum(dim=1)

    def products(self, layout: BatchLayout) -> Tensor:
        """See `Compared`."""
        return layout.products(self.left, self.right)


class ByToken(NamedTuple):
    """Token vectors (T, W) of each question and text, compared by late interaction.

    Rows with the same text share one tensor.
    """

    left: Sequence[Tensor]
    right: Sequence[Tensor]
    interaction: Interaction

    def pairs(self) -> Tensor:
        """See `Compared`."""
        rows: dict[int, list[int]] = {}
        for row, query in enumerate(self.left):
            rows.setdefault(id(query), []).append(row)
        products = [self.all([self.left[rows_of_query[0]]], rows_of_query)[0] for rows_of_query in rows.values()]
        order = torch.tensor(
            [row for rows_of_query in rows.values() for row in rows_of_query], device=products[0].device
        )
        return torch.cat(products)[order.argsort()]

    def products(self, layout: BatchLayout) -> Tensor:
        """See `Compared`."""
        queries, candidates = layout.firsts()
        return self.all([self.left[row] for row in queries], candidates)

    def all(self, queries: Sequence[Tensor], candidates: Sequence[int]) -> Tensor:
        """Return scores (Q, C) of questions and the texts of rows `candidates`."""
        texts = [self.right[row] for row in candidates]
        lengths = torch.tensor([len(text) for text in texts], device=texts[0].device)
        return scores(self.interaction, queries, torch.cat(texts), lengths)
