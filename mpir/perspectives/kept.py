"""The token vectors of the last texts, so that the next question need not read them again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

BYTES = 2**28
"""What they may take in memory: some 5,000 abstracts of 200 tokens at 128 dimensions in bfloat16."""


class Kept:
    """Texts and their vectors, those that were asked for last, for many threads."""

    def __init__(self, most: int = BYTES) -> None:
        """Keep at most so many bytes."""
        self.most, self.bytes = most, 0
        self._found: OrderedDict[str, list[Tensor]] = OrderedDict()
        self._turn = threading.Lock()

    def look_up(self, texts: Iterable[str]) -> dict[str, list[Tensor]]:
        """The vectors of those texts that are here."""
        with self._turn:
            here = {text: self._found[text] for text in texts if text in self._found}
            for text in here:
                self._found.move_to_end(text)
            return here

    def keep(self, vectors: Mapping[str, list[Tensor]]) -> None:
        """Keep the vectors of new texts; the oldest go where there is no room."""
        with self._turn:
            for text, found in vectors.items():
                self.bytes += _size(found) - _size(self._found.pop(text, []))
                self._found[text] = found
            while self.bytes > self.most:
                self.bytes -= _size(self._found.popitem(last=False)[1])

    def clear(self) -> None:
        """Let go of all."""
        with self._turn:
            self._found.clear()
            self.bytes = 0


def _size(vectors: Iterable[Tensor]) -> int:
    return sum(one.nbytes for one in vectors)
