"""What a reranker holds open: the processes of its perspectives' models, their last texts, and the score cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from mpir.models.perspectives import Perspective, ScoreCache


class Resources:
    """Perspectives and a score cache that are closed, copied and pickled together."""

    perspectives: tuple[Perspective, ...]
    cache: ScoreCache | None

    def close(self) -> None:
        """End the processes of several devices and close the cache; another call starts them anew."""
        for perspective in self.perspectives:
            perspective.close()
        if self.cache is not None:
            self.cache.close()

    def forget_texts(self) -> None:
        """Drop the vectors of the texts read last, so that scores do not depend on earlier calls.

        The last digits of a vector depend on the texts that were read together with its own.
        """
        for perspective in self.perspectives:
            if forget := getattr(perspective, "forget_texts", None):
                forget()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the open cache: a pickled or copied object has the cache's folder, wherever it works."""
        cache = None if self.cache is None else (self.cache.folder.absolute(), self.cache.limit)
        return {**vars(self), "cache": cache}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Open the cache anew, as SQLite lets no two processes share one connection. Raises OutputError."""
        cache = state["cache"]
        vars(self).update(state, cache=None if cache is None else ScoreCache(cache[0], limit=cache[1]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
