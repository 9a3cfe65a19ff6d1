"""A progress bar of encoded documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tqdm import tqdm


class DocumentBar:
    """Counts documents while their texts are encoded; use it in a ``with`` block.

    Documents are read shard by shard, and their texts are encoded by length, so a shard's documents are counted by the
    share of its encoded texts. Rate and remaining time exclude shards of an earlier run.
    """

    def __init__(self, total: int | None, *, is_shown: bool) -> None:
        """Make a bar for this number of documents, if known."""
        options: dict[str, Any] = {"desc": "Encoding", "unit": " documents", "smoothing": 0}
        self._bar = tqdm(total=total, disable=not is_shown, **options)
        self._documents, self._finished = 0.0, 0

    def __enter__(self) -> DocumentBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def skip(self, documents: int) -> None:
        """Count documents that were encoded before."""
        if not self._bar.disable:
            self._bar.initial += documents
        self.finish_shard(documents)

    def of_texts(self, documents: float, texts: int) -> Callable[[int], None]:
        """Return a callback for numbers of encoded texts, where `texts` texts belong to this number of documents."""
        return lambda encoded: self._reach(self._documents + documents * encoded / max(1, texts))

    def finish_shard(self, documents: int) -> None:
        """Count all documents of a shard, those without a text included."""
        self._finished += documents
        self._reach(self._finished)

    def _reach(self, documents: float) -> None:
        self._documents = documents
        self._bar.update(int(self._documents + 1e-6) - self._bar.n)
