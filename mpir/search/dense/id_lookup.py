"""Look up documents of an index by id: their segments and their numbers in these."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mpir.search.dense.segment import Segment, encoded
from mpir.types import I64


class DocumentLookup:
    """Positions of documents in several segments.

    Only segments whose range of ids contains an id are searched, as PubMed's files have nearly consecutive ids.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = segments

    def of(self, ids: Sequence[str]) -> tuple[I64, I64]:
        """Return the segment (N,) of each document and its number (N,) there; -1 for a missing or removed one."""
        names, (low, high) = encoded(ids), self._bounds
        segment_numbers, numbers = np.full((2, len(ids)), -1)
        inside = np.less_equal(low[:, None], names) & np.less_equal(names, high[:, None])
        for segment_number in np.flatnonzero(inside.any(axis=1)):
            queried = np.flatnonzero(inside[segment_number])
            document_numbers = self.segments[segment_number].numbers_of(names[queried])
            segment_numbers[queried[document_numbers >= 0]], numbers[queried[document_numbers >= 0]] = (
                segment_number,
                document_numbers[document_numbers >= 0],
            )
        return segment_numbers, numbers

    @cached_property
    def _bounds(self) -> tuple[npt.NDArray[np.bytes_], npt.NDArray[np.bytes_]]:
        """The lowest and the highest id (S,) of each segment."""
        bounds = [segment.bounds for segment in self.segments]
        return np.array([low for low, _ in bounds], np.bytes_), np.array([high for _, high in bounds], np.bytes_)
