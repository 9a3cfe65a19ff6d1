"""Cache results for the texts read last, for reuse by the next query."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Generic, TypeVar

from cachetools import LRUCache

Value = TypeVar("Value")
BYTES = 2**28
"""Maximum memory for token vectors: about 5,000 abstracts of 200 tokens at 128 dimensions in bfloat16."""


class LruCache(Generic[Value]):
    """Values by text, which evicts the least recently used; thread-safe. Pickled or copied ones are empty."""

    def __init__(self, size: Callable[[str, Value], int], limit: int = BYTES) -> None:
        """Hold at most `limit` bytes; `size` returns the bytes of a text and its value."""
        self.size, self.limit = size, limit
        self._entries: LRUCache[str, tuple[str, Value]] = LRUCache(limit, getsizeof=lambda entry: size(*entry))
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.size, self.limit)

    @property
    def bytes(self) -> float:
        """The bytes that the entries take."""
        return self._entries.currsize

    def look_up(self, texts: Iterable[str]) -> dict[str, Value]:
        """Return the values of those texts that have one."""
        with self._lock:
            return {text: self._entries[text][1] for text in texts if text in self._entries}

    def store(self, values: Mapping[str, Value]) -> None:
        """Store values of texts, but none that is larger than the cache."""
        with self._lock:
            for text, value in values.items():
                self._entries.pop(text, None)  # so that no old value remains if the new one is too large
                with suppress(ValueError):
                    self._entries[text] = (text, value)

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._entries.clear()
