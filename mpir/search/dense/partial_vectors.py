"""What keeps vectors while they are made, so that a call that was interrupted need not begin anew."""

from __future__ import annotations

from typing import Protocol

from mpir.types import F32, I64, Bool


class PartialVectors(Protocol):
    """Told of every batch of vectors that is made, and asked first for those that an interrupted call has made."""

    def restore(self, vectors: F32, text_of: I64) -> Bool:
        """Fill in what is there of vectors (R, W), whose texts are `text_of` (R,); return which rows (R,) that is.

        The array is filled further between calls of `add`.
        """

    def add(self, rows: I64) -> None:
        """Note that these rows of the array now have their vectors."""
