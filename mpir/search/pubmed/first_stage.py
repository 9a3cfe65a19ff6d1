"""PubMed and Europe PMC as a server's first stage."""

from __future__ import annotations

from collections.abc import Sequence

from mpir.search.pubmed.candidates import search
from mpir.search.pubmed.results import SearchResult
from mpir.search.pubmed.settings import Settings


class PubMedFirstStage:
    """Calls `search` with fixed settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def search(
        self, query: str, k: int = 100, *, start: str | None = None, end: str | None = None, types: Sequence[str] = ()
    ) -> SearchResult:
        """The best k candidates for a query, which leaves this machine; limits are as in `candidates.search`.

        Raises:
            InputError: invalid limits, or a query without words.
            ServiceError: no service gives a usable answer.
        """
        return search(query, k, start=start, end=end, types=types, settings=self._settings)
