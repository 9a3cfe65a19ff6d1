"""Lay out a batch as the matrix (queries, candidates) that losses take, and compare its texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from mpir.models.late_interaction.interaction import Interaction, scores
from mpir.types import I64, Bool

if TYPE_CHECKING:
    from mpir.lab.train.examples import Example


class BatchLayout(NamedTuple):
    """The question (N,) and the candidate (N,) of each of N rows, and a mask (Q, C) of valid cells."""

    query: I64
    candidate: I64
    mask: Bool

    def fill(self, values: Tensor) -> Tensor:
        """Put values (N,) of rows in their cells (Q, C), with the highest of several values, and 0 for none."""
        where = torch.from_numpy(self.query * self.mask.shape[1] + self.candidate).to(values.device)
        flat = values.new_zeros(self.mask.size).scatter_reduce(0, where, values, "amax", include_self=False)
        return flat.view(self.mask.shape)

    def products(self, left: Tensor, right: Tensor) -> Tensor:
        """Return products (Q, C) of question and candidate vectors, from both vectors (N, W) of the rows."""
        first, candidate_rows = (torch.tensor(rows) for rows in self.firsts())
        return left[first.to(left.device)] @ right[candidate_rows.to(right.device)].T

    def firsts(self) -> tuple[list[int], list[int]]:
        """Return the first row of each question (Q,) and of each candidate (C,)."""
        first, second = (np.unique(numbers, return_index=True)[1].tolist() for numbers in (self.query, self.candidate))
        return first, second


def own_places(rows: Sequence[Example]) -> BatchLayout:
    """Lay out each question's own rows as its candidates."""
    query = _numbered(row.group for row in rows)
    order = np.argsort(query, kind="stable")
    counts = np.bincount(query)
    candidate = np.empty_like(query)
    candidate[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return BatchLayout(query, candidate, np.arange(counts.max()) < counts[:, None])


def batch_places(rows: Sequence[Example], known: Mapping[str, AbstractSet[str]]) -> BatchLayout:
    """Lay out every distinct sentence of the rows as a candidate of every distinct question.

    Known answers of a question (`known`, by texts normalised with `same`) and the question itself are masked, unless
    they are a row of the question.
    """
    queries, sentences = [same(row.question) for row in rows], [same(row.sentence) for row in rows]
    query, candidate = _numbered(queries), _numbered(sentences)
    distinct = list(dict.fromkeys(sentences))
    mask = np.array(
        [
            [text != query_text and text not in known.get(query_text, ()) for text in distinct]
            for query_text in dict.fromkeys(queries)
        ]
    )
    mask[query, candidate] = True
    return BatchLayout(query, candidate, mask)


def known_positives(rows: Iterable[Example]) -> dict[str, set[str]]:
    """Return the texts with a positive label of each question, normalised by `same`."""
    positives: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.label > 0:
            positives[same(row.question)].add(same(row.sentence))
    return dict(positives)


def same(text: str) -> str:
    """Normalise white space and case of a text."""
    return " ".join(text.casefold().split())


def _numbered(names: Iterable[str]) -> I64:
    """Number names (N,) by first occurrence."""
    names = list(names)
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names], np.int64)


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
