"""Options of a reranker that belong to a run, not to the bundle that it may be saved as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from mpir.core.text.split import Splitting
from mpir.validation import check_choice, optional_whole_number

PAIRS_AT_ONCE = 16_384
Cascade = Literal["auto", "all", "first"]
AUTO: Cascade = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a reranker computes.

    Attributes:
        cascade: how far documents are read, for models with exits (reranking/stages.py): "auto" reads those that rank
            high by words to the first exit, and the best of these to the end; "all" reads every document to the end,
            and "first" to the first exit.
        splitting: how documents are split into sentences: as an ``abstract`` or as a ``report``.
        pairs_at_once: that many (query, sentence) pairs are scored together, and those of one query more; it bounds
            memory.
        tokens_per_batch: the size of a batch of a bundle's models; by default one that suits the device.
        trust_code: whether a bundle may run code that it names as ``module:attribute``, ask a chat model at an address
            that it names, and fetch models, and whether models may run Python code of their own.

    Raises:
        InputError: an invalid value.
    """

    cascade: Cascade = AUTO
    splitting: Splitting = "abstract"
    pairs_at_once: int = PAIRS_AT_ONCE
    tokens_per_batch: int | None = None
    trust_code: bool = False

    def __post_init__(self) -> None:
        check_choice("cascade", self.cascade, get_args(Cascade))
        check_choice("splitting", self.splitting, get_args(Splitting))
        optional_whole_number("pairs_at_once", self.pairs_at_once)
        optional_whole_number("tokens_per_batch", self.tokens_per_batch)
