"""Storage of vectors while they are computed, so that an interrupted call can be resumed."""

from __future__ import annotations

from typing import Protocol

from mpir.types import F32, I64, Bool


class PartialVectors(Protocol):
    """Storage that restores the vectors of an interrupted call, and records each new batch."""

    def restore(self, vectors: F32, text_of: I64) -> Bool:
        """Fill in the stored rows of vectors (R, W), whose texts are `text_of` (R,); return a mask (R,) of these rows.

        The array is filled further between calls of `add`.
        """

    def add(self, rows: I64) -> None:
        """Record that these rows of the array have been computed."""
