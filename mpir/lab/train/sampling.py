"""Sample negatives during the training of a bi-encoder: rows are positive pairs, and each gets a negative text.

After the mega-batches of Wieting & Gimpel, "ParaNMT-50M" (2018), as Shi, Syeda-Mahmood & Baldwin use them for
radiology (2022): before training on the batches of M pairs, one pass of the current model finds each pair's hardest
negative among their texts.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from mpir.lab.train.batch_layout import same
from mpir.types import Bool, Float
from mpir.validation import check_choice, whole_number

if TYPE_CHECKING:
    from mpir.lab.train.examples import Example

Negatives = Literal["random", "hard"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How negatives are sampled: at random or nearest to the question, among the texts of `among` pairs.

    Raises:
        InputError: an unknown kind, or fewer than two pairs.
    """

    negatives: Negatives = "hard"
    among: int = 128

    def __post_init__(self) -> None:
        check_choice("sampling: negatives", self.negatives, get_args(Negatives))
        whole_number("sampling: among", self.among, minimum=2)

    def __str__(self) -> str:
        return f"{self.negatives} negatives among {self.among}"

    def pools(self, pairs: Sequence[Example], generator: random.Random) -> list[list[Example]]:
        """Split the pairs, in random order, into pools of `among`."""
        shuffled = generator.sample(list(pairs), len(pairs))
        return [shuffled[start : start + self.among] for start in range(0, len(shuffled), self.among)]


def allowed(pairs: Sequence[Example], texts: Sequence[str], known: Mapping[str, AbstractSet[str]]) -> npt.NDArray[Any]:
    """Return a mask (N, T) of the texts that may be negatives of pairs: all but answers to the pair's question."""
    keys = [same(text) for text in texts]
    rows = {
        query: [key not in known.get(query, ()) for key in keys] for query in {same(pair.question) for pair in pairs}
    }
    return np.array([rows[same(pair.question)] for pair in pairs], bool).reshape(len(pairs), len(texts))


def choose(closeness: Float, allowed: Bool) -> list[int | None]:
    """Return the nearest allowed text of each of N pairs from (N, T); None if there is none."""
    best = np.where(allowed, closeness, -np.inf).argmax(axis=1)
    return [int(column) if has_allowed else None for column, has_allowed in zip(best, allowed.any(axis=1), strict=True)]


def triplets(pairs: Sequence[Example], negatives: Sequence[str | None]) -> list[Example]:
    """Return two rows, in a group of their own, for each pair with a negative; other pairs are excluded."""
    rows: list[Example] = []
    for number, (pair, negative) in enumerate(zip(pairs, negatives, strict=True)):
        if negative is not None:
            grouped = replace(pair, group=f"{number}")
            rows += [grouped, replace(grouped, sentence=negative, label=0.0, teacher=None)]
    return rows
