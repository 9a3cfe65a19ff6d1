"""What was read of the last texts, so that the next question need not read them again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")
BYTES = 2**28
"""What token vectors may take in memory: some 5,000 abstracts of 200 tokens at 128 dimensions in bfloat16."""


class LruCache(Generic[Value]):
    """Texts and what was found in them, those that were asked for last, for many threads.

    One that is pickled or copied is empty.
    """

    def __init__(self, size: Callable[[str, Value], int], limit: int = BYTES) -> None:
        """Keep at most so many bytes; `size` says how many a text and what was found in it take."""
        self.size, self.most, self.bytes = size, limit, 0
        self._found: OrderedDict[str, Value] = OrderedDict()
        self._turn = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.size, self.most)

    def look_up(self, texts: Iterable[str]) -> dict[str, Value]:
        """What was found in those texts that are here."""
        with self._turn:
            cached = {text: self._found[text] for text in texts if text in self._found}
            for text in cached:
                self._found.move_to_end(text)
            return cached

    def keep(self, values: Mapping[str, Value]) -> None:
        """Keep what was found in new texts; the oldest go where there is no room."""
        with self._turn:
            for text, value in values.items():
                if text in self._found:
                    self.bytes -= self.size(text, self._found.pop(text))
                self.bytes += self.size(text, value)
                self._found[text] = value
            while self.bytes > self.most:
                self.bytes -= self.size(*self._found.popitem(last=False))

    def clear(self) -> None:
        """Let go of all."""
        with self._turn:
            self._found.clear()
            self.bytes = 0
