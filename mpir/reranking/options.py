"""Options of a reranker that belong to a run, not to the bundle that it may be saved as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from mpir.core.text.split import Splitting
from mpir.reranking.cascade import AUTO, Share, check_share
from mpir.validation import check_choice, optional_whole_number

PAIRS_AT_ONCE = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a reranker computes.

    Attributes:
        cascade: the share of a query's sentences that a cheap first pass lets through to the perspectives
            (reranking/cascade.py). "auto" is 100 and a fifth of the others and, in lists of more than 60 documents,
            has vectors made of the 50 best ones alone (reranking/cascade.py); "all", kept as None, scores everything.
        splitting: how documents are split into sentences: as an ``abstract`` or as a ``report``.
        pairs_at_once: that many (query, sentence) pairs are scored together, and those of one query more; it bounds
            memory.
        tokens_per_batch: the size of a batch of a bundle's models; by default one that suits the device.
        trust_code: whether a bundle may run code that it names as ``module:attribute``, ask a chat model at an address
            that it names, and fetch models, and whether models may run Python code of their own.

    Raises:
        InputError: an invalid value.
    """

    cascade: Share = AUTO
    splitting: Splitting = "abstract"
    pairs_at_once: int = PAIRS_AT_ONCE
    tokens_per_batch: int | None = None
    trust_code: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "cascade", check_share(self.cascade))
        check_choice("splitting", self.splitting, get_args(Splitting))
        optional_whole_number("pairs_at_once", self.pairs_at_once)
        optional_whole_number("tokens_per_batch", self.tokens_per_batch)
