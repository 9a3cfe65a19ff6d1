"""Where the rows of a batch stand in the matrix (questions, candidates) that losses are given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mpir.types import I64, Bool

if TYPE_CHECKING:
    from mpir.train.examples import Example


class BatchLayout(NamedTuple):
    """The question (N,) and the candidate (N,) that each of N rows is, and which places (Q, C) count."""

    question: I64
    candidate: I64
    mask: Bool

    def fill(self, values: Tensor) -> Tensor:
        """Values (N,) of rows in their places: (Q, C), the highest where several are, 0 where none is."""
        where = torch.from_numpy(self.question * self.mask.shape[1] + self.candidate).to(values.device)
        flat = values.new_zeros(self.mask.size).scatter_reduce(0, where, values, "amax", include_self=False)
        return flat.view(self.mask.shape)

    def products(self, left: Tensor, right: Tensor) -> Tensor:
        """Every question's vector times every candidate's: (Q, C) from those of the rows, twice (N, W)."""
        first, candidate_rows = (torch.tensor(rows) for rows in self.firsts())
        return left[first.to(left.device)] @ right[candidate_rows.to(right.device)].T

    def firsts(self) -> tuple[list[int], list[int]]:
        """The row of each question (Q,) and of each candidate (C,), where several have one the first."""
        first, second = (
            np.unique(numbers, return_index=True)[1].tolist() for numbers in (self.question, self.candidate)
        )
        return first, second


def own_places(rows: Sequence[Example]) -> BatchLayout:
    """Each question's own rows are its candidates, side by side."""
    question = _numbered(row.group for row in rows)
    order = np.argsort(question, kind="stable")
    counts = np.bincount(question)
    candidate = np.empty_like(question)
    candidate[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return BatchLayout(question, candidate, np.arange(counts.max()) < counts[:, None])


def batch_places(rows: Sequence[Example], known: Mapping[str, AbstractSet[str]]) -> BatchLayout:
    """Every distinct sentence of the rows is a candidate of their every distinct question.

    What a question is known to be answered by (`known`, by the texts that `same` makes equal) does not count against
    it, nor does the question itself, unless a row says so.
    """
    questions, sentences = [same(row.question) for row in rows], [same(row.sentence) for row in rows]
    question, candidate = _numbered(questions), _numbered(sentences)
    distinct = list(dict.fromkeys(sentences))
    mask = np.array(
        [
            [text != query and text not in known.get(query, ()) for text in distinct]
            for query in dict.fromkeys(questions)
        ]
    )
    mask[question, candidate] = True
    return BatchLayout(question, candidate, mask)


def known_positives(rows: Iterable[Example]) -> dict[str, set[str]]:
    """The texts with a positive label of every question, as `same` has them."""
    positives: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.label > 0:
            positives[same(row.question)].add(same(row.sentence))
    return dict(positives)


def same(text: str) -> str:
    """Equal for texts that differ in nothing but space and capitals."""
    return " ".join(text.casefold().split())


def _numbered(names: Iterable[str]) -> I64:
    """The number (N,) of each name, in the order of their first occurrence."""
    names = list(names)
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names], np.int64)
