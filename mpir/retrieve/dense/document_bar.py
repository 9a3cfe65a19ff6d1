"""A progress bar of the documents whose vectors are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tqdm import tqdm


class DocumentBar:
    """Counts documents while their texts are encoded; use it in a ``with`` block.

    Documents are read a shard at a time, and their texts by length, so the shard's documents are counted by the share
    of its texts that were encoded. Rate and time left are those since the start, without the shards that were there.
    """

    def __init__(self, total: int | None, *, is_shown: bool) -> None:
        """A bar of so many documents, if that is known."""
        options: dict[str, Any] = {"desc": "Encoding", "unit": " documents", "smoothing": 0}
        self._bar = tqdm(total=total, disable=not is_shown, **options)
        self._documents, self._finished = 0.0, 0

    def __enter__(self) -> DocumentBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def skip(self, documents: int) -> None:
        """Count documents whose vectors were there."""
        if not self._bar.disable:
            self._bar.initial += documents
        self.finish_shard(documents)

    def of_texts(self, documents: float, texts: int) -> Callable[[int], None]:
        """What to call with numbers of texts that were encoded, where all `texts` count as so many documents."""
        return lambda encoded: self._reach(self._documents + documents * encoded / max(1, texts))

    def finish_shard(self, documents: int) -> None:
        """Count all documents of a shard, those without a text included."""
        self._finished += documents
        self._reach(self._finished)

    def _reach(self, documents: float) -> None:
        self._documents = documents
        self._bar.update(int(self._documents + 1e-6) - self._bar.n)
